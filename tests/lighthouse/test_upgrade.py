"""A graph of an earlier version is brought up to date by `ensure_schema` and reads the same afterwards."""

from datetime import UTC, datetime

import pytest
from falkordb import Graph

from lighthouse import (
    SELF,
    Kind,
    SchemaMissing,
    as_of,
    digest,
    ensure_schema,
    history,
    related,
    remember,
    update,
)
from lighthouse.upgrade import user_word

ROOM = Kind("Room")
DEVICE = Kind(
    "Device", key="serial", times=["built"], relations={"IN": ROOM, "NEAR": SELF}, text=["note"]
)

# What the earlier version wrote: whole seconds, no integers beside them, words as they were given.
EARLIER = """
CREATE (:Stamp {id: 'kept'}),
  (e:Entity:Device {serial: 7, v: 2, note: 'ÜBER Büro', words: 'ÜBER Büro',
    built: localdatetime('1684-05-01T00:00:00')}),
  (e)-[:HAS_STATE]->(a:State {fp: 'a', by: 'old', v: 1, valid_from: localdatetime('2026-01-01T00:00:00'),
    valid_to: localdatetime('2026-01-02T00:00:00'), seen_last: localdatetime('2026-01-01T12:00:00'),
    recorded_at: localdatetime('2026-01-05T00:00:00')}),
  (e)-[:HAS_STATE]->(b:State {fp: 'b', by: 'old', v: 2, note: 'ÜBER Büro', words: 'ÜBER Büro',
    built: localdatetime('1684-05-01T00:00:00'), valid_from: localdatetime('2026-01-02T00:00:00'),
    recorded_at: localdatetime('2026-01-05T00:00:00')}),
  (a)-[:NEXT]->(b),
  (r1:Entity:Room {key: 'r1'}), (r2:Entity:Room {key: 'r2'}),
  (e)-[:IN {by: 'old', valid_from: localdatetime('2026-01-01T00:00:00'),
    valid_to: localdatetime('2026-01-02T00:00:00'), recorded_at: localdatetime('2026-01-05T00:00:00')}]->(r1),
  (e)-[:IN {by: 'old', valid_from: localdatetime('2026-01-02T00:00:00'),
    recorded_at: localdatetime('2026-01-05T00:00:00')}]->(r2),
  (e)-[:NEAR {by: 'old', valid_from: localdatetime('2026-01-01T00:00:00'),
    recorded_at: localdatetime('2026-01-05T00:00:00')}]->(e),
  (p:Episode {id: 'p', opened_at: localdatetime('2026-01-01T00:00:00')}),
  (p)-[:HAS]->(:Entry {id: 'p/1', seq: 1, recorded_at: localdatetime('2026-01-02T00:00:00'), words: 'Zwei'}),
  (p)-[:HAS]->(:Entry {id: 'p/2', seq: 2, recorded_at: localdatetime('2026-01-01T00:00:00')}),
  (:Message {key: 'k/1', user: 'Ann', words: 'Hello There'})
"""


@pytest.fixture(name="earlier")
def _earlier(graph: Graph) -> Graph:
    graph.query("CREATE INDEX FOR (n:State) ON (n.valid_from)")
    graph.query(EARLIER)
    return graph


def test_until_then_it_is_neither_read_nor_written(earlier: Graph) -> None:
    """Reads and writes of a graph that was not brought up to date raise SchemaMissing."""
    row = {"key": 7, "t": "2026-02-01", "values": {"v": 3}}
    for call in (
        lambda: history(earlier, DEVICE, 7),
        lambda: as_of(earlier, DEVICE, 7, "2026-01-03"),
        lambda: related(earlier, DEVICE, 7, "IN"),
        lambda: digest(earlier, [DEVICE]),
        lambda: remember(earlier, DEVICE, [row], "me"),
        lambda: update(earlier, DEVICE, 7, "2026-02-01", "me", values={"v": 3}),
    ):
        with pytest.raises(SchemaMissing):
            call()


def test_it_reads_the_same_afterwards(earlier: Graph) -> None:
    """States, times and relations of the earlier graph are read as they were written."""
    ensure_schema(earlier, [DEVICE])

    first, second = history(earlier, DEVICE, 7)
    assert first == {
        "fp": "a", "by": "old", "v": 1, "valid_from": datetime(2026, 1, 1, tzinfo=UTC),
        "valid_to": datetime(2026, 1, 2, tzinfo=UTC), "seen_last": datetime(2026, 1, 1, 12, tzinfo=UTC),
        "recorded_at": datetime(2026, 1, 5, tzinfo=UTC),
    }  # fmt: skip
    assert second["built"] == datetime(1684, 5, 1, tzinfo=UTC)
    assert as_of(earlier, DEVICE, 7, "2026-01-01T18:00:00")["v"] == 1
    assert related(earlier, DEVICE, 7, "IN", "2026-01-01T18:00:00") == ["r1"]
    assert related(earlier, DEVICE, 7, "IN") == ["r2"]
    assert related(earlier, DEVICE, 7, "NEAR") == [7]


def test_it_is_written_on_afterwards(earlier: Graph) -> None:
    """Rows go into the history that was there: changed, inserted, and the edges with them."""
    ensure_schema(earlier, [DEVICE])

    new = {"key": 7, "t": "2026-02-01", "values": {"v": 3}, "relations": {"IN": "r2"}}
    late = {
        "key": 7,
        "t": "2026-01-01T13:00:00",
        "values": {"v": 9},
        "relations": {"IN": ["r1", "r3"]},
    }
    receipts = [remember(earlier, DEVICE, [row], "me")[0]["status"] for row in (new, late)]
    near = earlier.query(
        "MATCH (:Device)-[o:NEAR]->() RETURN o.valid_from.hour, o.valid_to IS NULL"
    )

    assert receipts == ["changed", "inserted"]
    assert related(earlier, DEVICE, 7, "IN", "2026-01-01T14:00:00") == ["r1", "r3"]
    assert sorted(row[1] for row in near.result_set) == [False, False]


def test_indexes_words_serials_and_marks_are_renewed(earlier: Graph) -> None:
    """The old index goes, words are folded, entries numbered by recording, messages owned; the id stays."""
    ensure_schema(earlier, [DEVICE])
    ensure_schema(earlier, [DEVICE])

    types = dict(
        earlier.query("CALL db.indexes() YIELD label, types RETURN label, types").result_set
    )
    assert set(types["State"]) == {"valid_from:us", "by", "words"}
    assert earlier.query("MATCH (e:Device) RETURN e.words").result_set == [["über büro"]]
    assert earlier.query(
        "MATCH (n:Entry) RETURN n.id, n.serial, n.words ORDER BY n.id"
    ).result_set == [
        ["p/1", 2, "zwei"],
        ["p/2", 1, None],
    ]
    assert earlier.query("MATCH (n:Message) RETURN n.words").result_set == [
        [f"{user_word('Ann')} hello there"]
    ]
    assert earlier.query("MATCH (m:Stamp) RETURN m.id, m.times, m.entries").result_set == [
        ["kept", "us", 2]
    ]


def test_a_step_that_was_cut_off_is_taken_again(earlier: Graph) -> None:
    """An upgrade that ended half way is finished by the next call."""
    earlier.query("MATCH (s:State {fp: 'a'}) SET s.`valid_from:us` = 1767225600000000")

    ensure_schema(earlier, [DEVICE])

    assert [state["valid_from"].day for state in history(earlier, DEVICE, 7)] == [1, 2]
