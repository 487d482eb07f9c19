"""Which entries are the evidence of a State: named by rows, looked up, linked and read back."""

import pytest
from falkordb import Graph

from lighthouse import (
    SELF,
    Kind,
    as_of,
    ensure_schema,
    history,
    related,
    remember,
    update,
    update_many,
)

THING = Kind("Thing", relations={"NEAR": SELF})
T = [f"2026-01-{day:02d}T00:00:00" for day in range(1, 32)]


@pytest.fixture(name="things")
def _things(graph: Graph) -> Graph:
    """A graph with three entries, and an episode that is none."""
    ensure_schema(graph, [THING])
    graph.query(
        "CREATE (:Entry {id: 'lab/1'}), (:Entry {id: 'lab/2'}), (:Entry {id: 'lab/3'}),"
        " (:Episode {id: 'lab'})"
    )
    return graph


def row(
    t: int, value: object = None, entry: str | None = None, key: str = "k", **more: object
) -> dict:
    """A row at a day of January, with one value and its evidence."""
    values = {} if value is None else {"v": value}
    return {"key": key, "t": T[t], "values": values, "entry": entry, **more}


def statuses(receipts: list[dict]) -> list[str]:
    """What became of the rows."""
    return [receipt["status"] for receipt in receipts]


def evidence(graph: Graph, key: str = "k") -> list[tuple]:
    """The value of each State with the entry and the entries that are read back."""
    return [(s.get("v"), s.get("entry"), s.get("entries")) for s in history(graph, THING, key)]


def links(graph: Graph) -> list[list]:
    """Every FROM edge, read without the library."""
    return graph.ro_query(
        "MATCH (s:State)-[f:FROM]->(n:Entry) RETURN s.v, n.id ORDER BY s.`valid_from:us`, n.id"
    ).result_set


def failures(graph: Graph) -> list[list]:
    """Every WriteFailure."""
    return graph.ro_query(
        "MATCH (f:WriteFailure) RETURN f.reason, f.key, f.detail, f.times"
    ).result_set


@pytest.mark.parametrize("batches", [1, 3])
def test_a_state_points_at_the_entry_of_the_row_that_made_it(things, batches) -> None:
    """Created, changed and inserted rows, in one batch or several; a row without entry has none."""
    rows = [row(1, 1, "lab/1"), row(5, 2), row(9, 3, "lab/3"), row(7, 4, "lab/2")]
    given = [rows] if batches == 1 else [rows[:1], rows[1:3], rows[3:]]

    received = [
        status for part in given for status in statuses(remember(things, THING, part, by="feed"))
    ]

    assert received == ["created", "changed", "changed", "inserted"]
    assert evidence(things) == [
        (1, "lab/1", None),
        (2, None, None),
        (4, "lab/2", None),
        (3, "lab/3", None),
    ]
    assert links(things) == [[1, "lab/1"], [4, "lab/2"], [3, "lab/3"]]


def test_as_of_shows_it_too(things) -> None:
    """The State that held looks as it does in the history, with its entry and its entries."""
    remember(things, THING, [row(5, 1, "lab/1"), row(9, 2), row(3, 1, "lab/2")], by="feed")

    assert [as_of(things, THING, "k", T[t]) for t in (4, 10)] == history(things, THING, "k")
    assert as_of(things, THING, "k", T[4])["entries"] == ["lab/1", "lab/2"]


def test_one_entry_may_be_the_evidence_of_many(things) -> None:
    """Of several entities, and of several States of one."""
    rows = [row(1, 1, "lab/1"), row(2, 2, "lab/1"), row(1, 1, "lab/1", key="other")]

    remember(things, THING, rows, by="feed")

    assert evidence(things) == [(1, "lab/1", None), (2, "lab/1", None)]
    assert evidence(things, "other") == [(1, "lab/1", None)]
    assert things.ro_query("MATCH (n:Entry) RETURN count(n)").result_set == [[3]]


@pytest.mark.parametrize("write", [remember, update_many])
def test_a_row_whose_entry_does_not_exist_is_missing(things, write) -> None:
    """It is refused and kept as a failure, and writes nothing; its neighbours are written."""
    rows = [row(1, 1, "lab/1", key="a"), row(1, 2, "lab/9", key="b"), row(1, 3, key="c")]

    receipts = write(things, THING, rows, by="feed")

    assert receipts == [
        {"key": "a", "status": "created"},
        {"key": "b", "status": "missing", "reason": "the entry 'lab/9' does not exist"},
        {"key": "c", "status": "created"},
    ]
    assert things.ro_query("MATCH (n:Thing) RETURN n.key ORDER BY n.key").result_set == [
        ["a"],
        ["c"],
    ]
    assert history(things, THING, "b") == []
    [[reason, key, detail, times]] = failures(things)
    assert (reason, key, times) == ("missing", "b", 1)
    assert detail.startswith("the entry 'lab/9' does not exist: ")


def test_missing_is_decided_before_anything_else_of_the_row(things) -> None:
    """A repeat, a conflict or a stale row with unknown evidence is missing as well."""
    remember(things, THING, [row(1, 1), row(5, 1)], by="feed")
    rows = [row(5, 1, "no/1"), row(1, 2, "no/1"), row(3, 2, "no/1")]

    assert statuses(remember(things, THING, rows, by="feed")) == ["missing"] * 3
    assert evidence(things) == [(1, None, None)]


@pytest.mark.parametrize("entry", ["lab", "lab/10", "LAB/1", "lab/1 "])
def test_only_an_entry_is_evidence(things, entry) -> None:
    """An episode's id, another spelling or a longer id name no entry."""
    [receipt] = remember(things, THING, [row(1, 1, entry)], by="feed")

    assert receipt["status"] == ("invalid" if entry != entry.strip() else "missing")


def test_an_entry_comes_to_be_between_two_calls(things) -> None:
    """It is looked up in each call: the row that was missing is taken once its entry is there."""
    first = remember(things, THING, [row(1, 1, "lab/4")], by="feed")
    things.query("CREATE (:Entry {id: 'lab/4'})")

    again = remember(things, THING, [row(1, 1, "lab/4")], by="feed")

    assert statuses(first + again) == ["missing", "created"]
    assert evidence(things) == [(1, "lab/4", None)]


def test_a_repeat_adds_no_evidence(things) -> None:
    """A State keeps the entry of the row that made it, or none; the repeat is a sighting."""
    remember(things, THING, [row(1, 1, "lab/1"), row(1, 1, key="other")], by="feed")

    receipts = remember(
        things, THING, [row(2, 1, "lab/2"), row(2, 1, "lab/2", key="other")], by="feed"
    )

    assert statuses(receipts) == ["unchanged", "unchanged"]
    assert evidence(things) == [(1, "lab/1", None)]
    assert evidence(things, "other") == [(1, None, None)]


def test_a_refused_row_leaves_no_evidence(things) -> None:
    """Conflicting and stale rows link nothing."""
    remember(things, THING, [row(1, 1), row(5, 1)], by="feed")

    receipts = remember(things, THING, [row(1, 2, "lab/1"), row(3, 2, "lab/2")], by="feed")

    assert statuses(receipts) == ["conflict", "stale"]
    assert links(things) == []


# Beyond the contract: a late row that says what the next State says.


def test_a_late_row_that_says_the_same_adds_its_evidence(things) -> None:
    """The State begins earlier; `entry` stays the first, and `entries` lists all."""
    remember(things, THING, [row(9, 1, "lab/1")], by="feed")

    receipts = remember(things, THING, [row(5, 1, "lab/2")], by="late") + remember(
        things, THING, [row(3, 1, "lab/3")], by="later"
    )

    assert statuses(receipts) == ["inserted", "inserted"]
    assert evidence(things) == [(1, "lab/1", ["lab/1", "lab/2", "lab/3"])]
    [state] = history(things, THING, "k")
    assert (state["by"], state["valid_from"].day, state["seen_last"].day) == ("feed", 4, 10)


@pytest.mark.parametrize("batches", [1, 2])
def test_the_order_of_entries_is_that_of_their_rows(things, batches) -> None:
    """Within one batch as in several, whatever the entries are called."""
    remember(things, THING, [row(9, 1, "lab/2")], by="feed")
    late = [row(5, 1, "lab/3"), row(3, 1, "lab/1")]

    for part in [late] if batches == 1 else [late[:1], late[1:]]:
        remember(things, THING, part, by="late")

    assert evidence(things) == [(1, "lab/2", ["lab/2", "lab/3", "lab/1"])]


def test_rows_of_one_batch_that_say_the_same_in_falling_order_share_a_state(things) -> None:
    """The State is new and extended at once; both entries are its evidence."""
    received = statuses(
        remember(things, THING, [row(9, 1, "lab/1"), row(5, 1, "lab/2")], by="feed")
    )

    assert received == ["created", "inserted"]
    assert evidence(things) == [(1, "lab/1", ["lab/1", "lab/2"])]


def test_evidence_is_linked_to_a_state_that_had_none(things) -> None:
    """The late row's entry is then the first."""
    remember(things, THING, [row(9, 1)], by="feed")
    remember(things, THING, [row(5, 1, "lab/2")], by="late")

    assert evidence(things) == [(1, "lab/2", None)]


def test_an_entry_is_linked_once(things) -> None:
    """The same evidence again, late or in one batch, is one link and one entry."""
    remember(things, THING, [row(9, 1, "lab/1")], by="feed")

    remember(things, THING, [row(5, 1, "lab/1"), row(3, 1, "lab/1")], by="late")

    assert evidence(things) == [(1, "lab/1", None)]
    assert links(things) == [[1, "lab/1"]]


def test_a_late_row_between_two_states_is_evidence_of_the_next_only(things) -> None:
    """Its neighbour before keeps what it had."""
    remember(things, THING, [row(1, 1, "lab/1"), row(9, 2, "lab/2")], by="feed")

    remember(things, THING, [row(5, 2, "lab/3")], by="late")

    assert evidence(things) == [(1, "lab/1", None), (2, "lab/2", ["lab/2", "lab/3"])]


def test_a_state_whose_evidence_is_parted_keeps_it(things) -> None:
    """A late row within a State's window makes its own; the one cut short keeps its entries."""
    remember(things, THING, [row(9, 1, "lab/1"), row(20, 2)], by="feed")
    remember(things, THING, [row(5, 1, "lab/2")], by="late")

    remember(things, THING, [row(15, 3, "lab/3")], by="late")

    assert evidence(things) == [
        (1, "lab/1", ["lab/1", "lab/2"]),
        (3, "lab/3", None),
        (2, None, None),
    ]


# Partial rows.


def test_the_evidence_of_an_update_is_its_own(things) -> None:
    """The entry of the State before is not carried over."""
    first = update(things, THING, "k", T[1], "feed", values={"v": 1, "w": 1}, entry="lab/1")
    second = update(things, THING, "k", T[2], "feed", values={"v": 2})
    third = update(things, THING, "k", T[3], "feed", relations={"NEAR": "x"}, entry="lab/2")

    assert statuses([first, second, third]) == ["created", "changed", "changed"]
    assert evidence(things) == [(1, "lab/1", None), (2, None, None), (2, "lab/2", None)]
    assert related(things, THING, "k", "NEAR") == ["x"]


def test_an_update_without_its_entry_is_missing(things) -> None:
    """And leaves the State as it was."""
    update(things, THING, "k", T[1], "feed", values={"v": 1})

    receipt = update(things, THING, "k", T[2], "feed", values={"v": 2}, entry="lab/9")

    assert receipt == {
        "key": "k",
        "status": "missing",
        "reason": "the entry 'lab/9' does not exist",
    }
    assert evidence(things) == [(1, None, None)]
    assert [failure[0] for failure in failures(things)] == ["missing"]


@pytest.mark.parametrize("batches", [1, 2])
def test_partial_rows_that_join_bring_their_evidence(things, batches) -> None:
    """Two rows of one time that name different things make one State, and both are its evidence."""
    rows = [
        {"key": "k", "t": T[1], "values": {"v": 1}, "entry": "lab/2"},
        {"key": "k", "t": T[1], "values": {"w": 1}, "entry": "lab/1"},
    ]

    for part in [rows] if batches == 1 else [rows[:1], rows[1:]]:
        update_many(things, THING, part, by="feed")

    assert evidence(things) == [(1, "lab/2", ["lab/2", "lab/1"])]
    assert history(things, THING, "k")[0]["w"] == 1
