"""What is known of one entity: its versions, the one that held at a time, what it pointed at."""

import hashlib
import json
import secrets
from datetime import UTC, datetime, timedelta, timezone

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import SELF, Kind, as_of, ensure_schema, history, related, remember

ROOM = Kind("Room", key="name")
THING = Kind(
    "Thing",
    key="serial",
    times=("built", "checked"),
    relations={"IN": ROOM, "NEAR": SELF},
    text=("note",),
)
MICRO = timedelta(microseconds=1)


def day(number: int, micros: int = 0) -> datetime:
    """A moment of January 2026."""
    return datetime(2026, 1, number, 0, 0, 0, micros, tzinfo=UTC)


#: Four States: one of every sort of value, one seen again, one that says nothing, the current one.
VALUES = {
    "v": 1,
    "on": True,
    "note": "Hello, World",
    "f": 0.1 + 0.2,
    "w": [1 / 3, 1, "x", False],
    "empty": [],
}
SECOND = {"values": {"v": 2, "checked": day(9, 9)}, "relations": {"IN": "a"}}
ROWS = [
    {
        "key": "t", "t": day(1, 1),
        "values": {**VALUES, "built": "1684-10-20T01:02:03.000001", "checked": None, "gone": None},
        "relations": {"IN": ["b", 10, "a", 9, "10", "é", "Z"], "NEAR": "t"},
    },
    {"key": "t", "t": day(5, 500_000), **SECOND},
    {"key": "t", "t": day(6, 7), **SECOND},
    {"key": "t", "t": day(10)},
    {"key": "t", "t": day(20), "values": {"v": 4}, "relations": {"NEAR": ["u", 3]}},
]  # fmt: skip


@pytest.fixture(name="things", scope="module")
def _things(db) -> Graph:
    """One graph in which one entity has four States."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    ensure_schema(graph, [THING])
    remember(graph, THING, ROWS[:3], by="feed", provenance="sensor")
    remember(graph, THING, ROWS[3:], by="ann")
    yield graph
    graph.delete()


def fp(values: dict, times: dict, relations: dict) -> str:
    """The fingerprint of a content, by the contract."""
    text = json.dumps([values, times, {"IN": [], "NEAR": []} | relations], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


EXPECTED = [
    {
        "fp": fp(
            VALUES,
            {"built": "1684-10-20T01:02:03.000001"},
            {"IN": [9, 10, "10", "Z", "a", "b", "é"], "NEAR": ["t"]},
        ),
        "valid_from": day(1, 1), "valid_to": day(5, 500_000), "by": "feed", "provenance": "sensor",
        "built": datetime(1684, 10, 20, 1, 2, 3, 1, tzinfo=UTC), **VALUES,
    },
    {
        "fp": fp({"v": 2}, {"checked": "2026-01-09T00:00:00.000009"}, {"IN": ["a"]}),
        "valid_from": day(5, 500_000), "valid_to": day(10), "seen_last": day(6, 7), "by": "feed",
        "provenance": "sensor", "v": 2, "checked": day(9, 9),
    },
    {"fp": fp({}, {}, {}), "valid_from": day(10), "valid_to": day(20), "by": "ann"},
    {"fp": fp({"v": 4}, {}, {"NEAR": [3, "u"]}), "valid_from": day(20), "by": "ann", "v": 4},
]  # fmt: skip


def test_a_history_shows_every_state_with_what_was_said_and_no_more(things) -> None:
    """Values, times, windows, writer, provenance; no key, relation, words or internal name."""
    before = datetime.now(UTC)

    states = history(things, THING, "t")

    recorded = [state.pop("recorded_at") for state in states]
    assert states == EXPECTED
    assert [json.dumps(states[0][name]) for name in VALUES] == [
        json.dumps(v) for v in VALUES.values()
    ]
    assert all(type(state) is dict for state in states)
    assert (
        before - timedelta(minutes=5)
        < recorded[0]
        == recorded[1]
        <= recorded[2]
        == recorded[3]
        < before
    )
    for moment in [*recorded, *(v for s in states for v in s.values() if isinstance(v, datetime))]:
        assert moment.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("when", "held"),
    [
        pytest.param(day(1), None, id="before the first"),
        pytest.param("0001-01-01", None, id="long before"),
        pytest.param(day(1, 1), 0, id="at the beginning"),
        pytest.param(day(1, 2), 0, id="a microsecond later"),
        pytest.param(day(5, 499_999), 0, id="a microsecond before the end"),
        pytest.param(day(5, 500_000), 1, id="at the end the next one holds"),
        pytest.param(day(6, 7), 1, id="at a sighting"),
        pytest.param(day(12), 2, id="one that says nothing"),
        pytest.param(day(20) - MICRO, 2, id="just before the last change"),
        pytest.param(day(20), 3, id="at the last change"),
        pytest.param(datetime.now(UTC) + timedelta(days=365), 3, id="in the future"),
        pytest.param("9999-12-31T23:59:59.999999", 3, id="at the end of time"),
        pytest.param(" 2026-01-05T00:00:00.4999999 ", 0, id="a text with nanoseconds"),
        pytest.param("2026-01-05T01:00:00.5+01:00", 1, id="a text with an offset"),
        pytest.param(datetime(2026, 1, 5, 0, 0, 0, 500_000), 1, id="without an offset it is UTC"),
        pytest.param(
            datetime(2026, 1, 4, 22, 0, 0, 500_000, tzinfo=timezone(-timedelta(hours=2))),
            1,
            id="west",
        ),
    ],
)
def test_as_of_gives_the_state_that_held(things, when, held) -> None:
    """Windows are half open; the State looks as it does in the history."""
    expected = None if held is None else history(things, THING, "t")[held]

    assert as_of(things, THING, "t", when) == expected


@pytest.mark.parametrize(
    ("relation", "when", "keys"),
    [
        pytest.param("IN", None, [], id="now, ended"),
        pytest.param("NEAR", None, ["u", 3], id="now"),
        pytest.param("IN", day(1), [], id="before the first"),
        pytest.param(
            "IN", day(1, 1), ["10", "Z", "a", "b", "é", 9, 10], id="texts before numbers, rising"
        ),
        pytest.param("NEAR", day(1, 1), ["t"], id="itself"),
        pytest.param(
            "IN", day(5, 499_999), ["10", "Z", "a", "b", "é", 9, 10], id="just before the end"
        ),
        pytest.param("IN", day(5, 500_000), ["a"], id="at the change"),
        pytest.param("NEAR", day(5, 500_000), [], id="not named, not pointed at"),
        pytest.param("IN", day(10), [], id="nothing is true"),
        pytest.param("NEAR", "2027-01-01", ["u", 3], id="later, as text"),
    ],
)
def test_related_gives_the_keys_pointed_at(things, relation, when, keys) -> None:
    """Now or at a time, each once, with their types."""
    found = related(things, THING, "t", relation, when)

    assert found == keys
    assert list(map(type, found)) == list(map(type, keys))


@pytest.mark.parametrize("key", ["unknown", 7, "T", "t2"])
def test_an_unknown_entity_has_nothing(things, key) -> None:
    """No States, no State at any time, no targets."""
    assert history(things, THING, key) == []
    assert as_of(things, THING, key, day(12)) is None
    assert related(things, THING, key, "IN") == []
    assert related(things, THING, key, "IN", day(12)) == []


def test_an_entity_that_is_only_pointed_at_has_no_state(things) -> None:
    """It is there, with its key, and nothing is known of it."""
    assert things.ro_query("MATCH (n:Room:Entity {name: 'a'}) RETURN count(n)").result_set == [[1]]

    assert history(things, ROOM, "a") == []
    assert as_of(things, ROOM, "a", day(12)) is None
    assert related(things, THING, "u", "NEAR") == []
    assert related(things, THING, "u", "NEAR", day(25)) == []


def test_a_text_and_a_number_as_key_are_two_entities(graph) -> None:
    """`"5"` is not 5, as entity and as target."""
    ensure_schema(graph, [THING])
    rows = [
        {"key": k, "t": day(1), "values": {"v": v}, "relations": {"NEAR": k}}
        for k, v in ((5, 1), ("5", 2))
    ]
    remember(graph, THING, rows, by="feed")

    assert [history(graph, THING, key)[0]["v"] for key in (5, "5")] == [1, 2]
    assert [related(graph, THING, key, "NEAR") for key in (5, "5")] == [[5], ["5"]]


def test_two_kinds_may_have_equal_keys(graph) -> None:
    """Entities are told apart by label and key."""
    ensure_schema(graph, [THING, ROOM])
    remember(graph, THING, [{"key": "k", "t": day(1), "values": {"v": 1}}], by="feed")
    remember(graph, ROOM, [{"key": "k", "t": day(2), "values": {"v": 2}}], by="feed")

    assert [state["v"] for state in history(graph, THING, "k")] == [1]
    assert [state["v"] for state in history(graph, ROOM, "k")] == [2]
    assert as_of(graph, ROOM, "k", day(1)) is None


def test_a_relation_declared_later_points_at_nothing_before(graph) -> None:
    """States of the time before it was declared read as pointing nowhere."""
    ensure_schema(graph, [THING])
    remember(graph, THING, [{"key": "k", "t": day(1), "relations": {"NEAR": "x"}}], by="feed")
    wider = Kind("Thing", key="serial", relations={"NEAR": SELF, "OWNS": ROOM})

    assert related(graph, wider, "k", "OWNS") == []
    remember(graph, wider, [{"key": "k", "t": day(2), "relations": {"OWNS": "r"}}], by="feed")

    assert related(graph, wider, "k", "OWNS", day(1)) == []
    assert related(graph, wider, "k", "OWNS", day(2)) == ["r"]
    assert related(graph, wider, "k", "NEAR", day(1)) == ["x"]


def test_a_late_row_is_read_at_its_time(graph) -> None:
    """The history shows it in its place, with the relations of its time."""
    ensure_schema(graph, [THING])
    rows = [
        {"key": "k", "t": day(t), "values": {"v": v}, "relations": {"IN": to}}
        for t, v, to in ((1, 1, "a"), (20, 3, "c"), (10, 2, ["b", "c"]))
    ]

    remember(graph, THING, rows, by="feed")

    assert [(s["valid_from"], s.get("valid_to"), s["v"]) for s in history(graph, THING, "k")] == [
        (day(1), day(10), 1),
        (day(10), day(20), 2),
        (day(20), None, 3),
    ]
    assert [related(graph, THING, "k", "IN", day(t)) for t in (1, 9, 10, 19, 20)] == [
        ["a"], ["a"], ["b", "c"], ["b", "c"], ["c"],
    ]  # fmt: skip


def test_a_history_of_more_than_one_page_is_whole(graph) -> None:
    """5,100 States in order, each touching the next, and each found at its time."""
    ensure_schema(graph, [THING])
    first, count = day(1), 5_100
    rows = [
        {"key": "k", "t": first + n * MICRO, "values": {"v": n}, "relations": {"NEAR": n % 3}}
        for n in range(count)
    ]
    for start in range(0, count, 500):
        remember(graph, THING, rows[start : start + 500], by="feed")

    states = history(graph, THING, "k")

    assert [state["v"] for state in states] == list(range(count))
    assert [state["valid_from"] for state in states] == [row["t"] for row in rows]
    assert [state["valid_to"] for state in states[:-1]] == [
        state["valid_from"] for state in states[1:]
    ]
    for n in (0, 1, 2_500, 4_999, 5_000, count - 1):
        assert as_of(graph, THING, "k", first + n * MICRO) == states[n]
        assert related(graph, THING, "k", "NEAR", first + n * MICRO) == [n % 3]


# What it refuses.


@pytest.mark.parametrize(
    "key",
    ["", " a", "a\n", "x" * 201, "a\u200bb", None, True, 1.0, 2**53, b"a", ["a"], ("Thing", "a")],
)
def test_a_key_that_is_none_raises(things, key) -> None:
    """ValueError, from every read."""
    for ask in (
        lambda: history(things, THING, key),
        lambda: as_of(things, THING, key, day(1)),
        lambda: related(things, THING, key, "IN"),
        lambda: related(things, THING, key, "IN", day(1)),
    ):
        with pytest.raises(ValueError, match="the key"):
            ask()


@pytest.mark.parametrize(
    "when",
    ["", "  ", "soon", "2026-04-31", "2026-01-01T24:00", "0001-01-01T00:00:00+01:00", "1" * 65],
)
def test_a_time_that_is_none_raises(things, when) -> None:
    """Blank and unreadable text is a ValueError, and so is a missing time where one is needed."""
    with pytest.raises(ValueError, match=r"time|when"):
        as_of(things, THING, "t", when)
    with pytest.raises(ValueError, match=r"time|when"):
        related(things, THING, "t", "IN", when)
    with pytest.raises(ValueError, match="when is missing"):
        as_of(things, THING, "t", None)


@pytest.mark.parametrize(
    "when", [5, 1.5, True, b"2026-01-01", day(1).date(), timedelta(1), ["2026-01-01"]]
)
def test_a_time_of_another_type_raises(things, when) -> None:
    """TypeError: a number might mean seconds or days."""
    with pytest.raises(TypeError, match="a time is"):
        as_of(things, THING, "t", when)
    with pytest.raises(TypeError, match="a time is"):
        related(things, THING, "t", "IN", when)


@pytest.mark.parametrize(
    "relation", ["in", "OF", "", "HAS_STATE", "NEXT", None, 5, "IN`]->() DETACH DELETE e //"]
)
def test_a_relation_that_is_not_declared_raises(things, relation) -> None:
    """Also one of the library's own; the text never becomes part of a query."""
    with pytest.raises(ValueError, match="is no relation of Thing"):
        related(things, THING, "t", relation)


def test_reading_leaves_nothing(things) -> None:
    """Neither an answer nor a refusal writes: nothing is counted, made or kept."""
    counted = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(DISTINCT n), count(r)"
    before = things.ro_query(counted).result_set

    history(things, THING, "t")
    as_of(things, THING, "t", day(3))
    related(things, THING, "t", "IN", day(3))
    lighthouse.digest(things, [THING])
    with pytest.raises(ValueError, match="the key"):
        history(things, THING, "")

    assert things.ro_query(counted).result_set == before
