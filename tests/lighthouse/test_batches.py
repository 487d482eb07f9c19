"""One database write: what the database refuses is parted; who is guilty is settled by words or by trial."""

from typing import Any

import pytest
from falkordb import Graph
from redis.exceptions import ResponseError

from lighthouse import Kind, Unavailable, ensure_schema, history, remember, update, update_many

THING = Kind("Thing")


class Interfering:
    """A graph that passes everything on, and lets `before` look at each query that writes first."""

    def __init__(self, graph: Graph, before: Any) -> None:
        self._graph = graph
        self._before = before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def query(self, text: str, **more: Any) -> Any:
        self._before(text)
        return self._graph.query(text, **more)


@pytest.fixture(name="things")
def _things(graph: Graph) -> Graph:
    ensure_schema(graph, [THING])
    return graph


def _rows(*keys: str, t: str = "2026-01-01", v: object = 1) -> list[dict]:
    return [{"key": key, "t": t, "values": {"v": v, "name": key}} for key in keys]


def _failures(graph: Graph) -> list[list]:
    text = "MATCH (f:WriteFailure) RETURN f.reason, f.key, f.times ORDER BY f.key"
    return graph.query(text).result_set


def test_a_refused_row_costs_only_itself(things: Graph) -> None:
    """Of 500 rows the one that breaks a constraint is failed, and is the only one kept as a failure."""
    things.create_node_unique_constraint("Thing", "name")
    remember(
        things, THING, [{"key": "first", "t": "2026-01-01", "values": {"name": "taken"}}], "me"
    )
    rows = _rows(*(f"k{n}" for n in range(500)))
    rows[251]["values"]["name"] = "taken"

    receipts = remember(things, THING, rows, "me")

    assert [n for n, receipt in enumerate(receipts) if receipt["status"] != "created"] == [251]
    assert receipts[251]["status"] == "failed"
    assert "constraint" in receipts[251]["reason"]
    assert _failures(things) == [["failed", "k251", 1]]


def test_refused_rows_of_one_entity_leave_its_other_rows(things: Graph) -> None:
    """Of several rows of one entity the refused one fails and those before and after it are written."""
    things.create_node_unique_constraint("Thing", "name")
    remember(
        things, THING, [{"key": "first", "t": "2026-01-01", "values": {"name": "taken"}}], "me"
    )
    names = ["n1", "n2", "n3", "taken"]
    rows = [
        {"key": "e", "t": f"2026-01-0{n}", "values": {"name": name}}
        for n, name in enumerate(names, 1)
    ]

    statuses = [receipt["status"] for receipt in remember(things, THING, rows, "me")]

    assert statuses == ["created", "changed", "changed", "failed"]
    assert [state["name"] for state in history(things, THING, "e")] == names[:3]


def test_an_unknown_error_of_one_row_is_found_by_trial(things: Graph) -> None:
    """A row refused alone in words nobody knows, while the graph takes other writes, is failed."""

    def refuse(text: str) -> None:
        if '"guilty"' in text and "WriteFailure" not in text:
            raise ResponseError("a text that nobody has seen before")

    rows = _rows("a", "b", "guilty", "c")

    receipts = remember(Interfering(things, refuse), THING, rows, "me")

    assert [receipt["status"] for receipt in receipts] == [
        "created",
        "created",
        "failed",
        "created",
    ]


def test_an_unknown_error_of_the_server_is_an_outage(things: Graph) -> None:
    """Where the graph takes no other write either, the server is meant: raised, and nothing is kept."""

    def refuse(text: str) -> None:
        if "WriteFailure" not in text:
            raise ResponseError("a text that nobody has seen before")

    with pytest.raises(Unavailable):
        remember(Interfering(things, refuse), THING, _rows("a", "b"), "me")

    assert _failures(things) == []


def test_an_unknown_error_that_passes_is_no_refusal(things: Graph) -> None:
    """A row that is taken at a further trial is created."""
    left = [2]

    def refuse(text: str) -> None:
        if '"a"' in text and left[0]:
            left[0] -= 1
            raise ResponseError("a text that nobody has seen before")

    assert remember(Interfering(things, refuse), THING, _rows("a"), "me") == [
        {"key": "a", "status": "created"}
    ]


@pytest.mark.parametrize("deep", [False, True], ids=["hot path", "general path"])
def test_a_moved_entity_is_read_again(things: Graph, deep: bool) -> None:
    """When another writer comes in between, the row is judged anew on what is there."""
    remember(things, THING, _rows("a", t="2026-01-01"), "me")
    left = [1]

    def overtake(text: str) -> None:
        if "valid_to" in text and left[0]:
            left[0] = 0
            remember(things, THING, _rows("a", t="2026-01-05", v=5), "other")

    rows = _rows("a", t="2026-01-03", v=3)
    rows += _rows("a", t="2026-01-04", v=4) if deep else []
    receipts = remember(Interfering(things, overtake), THING, rows, "me")

    assert [receipt["status"] for receipt in receipts] == ["inserted"] * len(rows)
    assert [state["v"] for state in history(things, THING, "a")] == [
        1,
        3,
        *([4] if deep else []),
        5,
    ]


def test_an_update_that_never_wins_is_busy(things: Graph) -> None:
    """After five tries that others overtook, an update is busy, with a reason, and kept."""
    remember(things, THING, _rows("a", t="2026-01-01"), "me")
    count = [0]

    def overtake(text: str) -> None:
        if "valid_to" in text:
            count[0] += 1
            remember(
                things, THING, _rows("a", t=f"2026-02-{count[0]:02d}", v=count[0] + 5), "other"
            )

    receipt = update(Interfering(things, overtake), THING, "a", "2026-03-01", "me", values={"w": 1})

    assert receipt["status"] == "busy"
    assert receipt["reason"]
    assert count[0] == 5
    assert _failures(things) == [["busy", "a", 1]]


def test_rows_that_name_thousands_of_values_are_all_written(things: Graph) -> None:
    """The names of values become text of the query, so rows with ever new names go into several queries."""
    rows = [
        {"key": n, "t": "2026-01-01", "values": {f"v{n}_{i}": i for i in range(200)}}
        for n in range(12)
    ]
    changes = [{"key": n, "t": "2026-01-02", "values": {f"v{n}_0": None}} for n in range(12)]

    created = remember(things, THING, rows, "me")
    changed = update_many(things, THING, changes, "me")

    assert {receipt["status"] for receipt in created} == {"created"}
    assert {receipt["status"] for receipt in changed} == {"changed"}
    assert all(f"v{n}_199" in history(things, THING, n)[1] for n in range(12))
    assert all(f"v{n}_0" not in history(things, THING, n)[1] for n in range(12))
