"""Each row of a call has an answer of its own, whatever its neighbours or the server do."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from falkordb import FalkorDB

import lighthouse
from lighthouse import Kind
from streams import embedded
from streams.batch import Call
from streams.errors import ServerMissing
from streams.events import Outcome, Record, Routed, Row
from streams.pressure import Abandoned, Pressure
from streams.write import Graphs, Writer
from tests.servers import ended

PLACE = Kind("Place")
THING = Kind("Thing", relations={"IN": PLACE})
KINDS = (PLACE, THING)


@pytest.fixture(name="name")
def _name(db: FalkorDB) -> Iterator[str]:
    """Give the name of a new tenant's graph; it is deleted afterwards."""
    name = f"tenant:t{secrets.token_hex(6)}"
    yield name
    if name in db.list_graphs():
        db.select_graph(name).delete()


@pytest.fixture(name="writer")
def _writer(graph_url: str) -> Iterator[Writer]:
    graphs = Graphs(lambda: FalkorDB.from_url(graph_url))
    yield Writer(graphs, KINDS, Pressure(lambda: False))
    graphs.close()


def call(name: str, *rows: tuple[str, str, Any], partial: bool = False, by: str = "feed") -> Call:
    """Make a call of Things from (key, t, values)."""
    routed = [
        Routed(
            Row(
                Record("t", "id", 0, at, 0, None, b""), "Thing", key, t, values, None, None, partial
            ),
            THING,
            name,
            by,
            "sensor",
        )
        for at, (key, t, values) in enumerate(rows)
    ]
    return Call(name, THING, by, "sensor", partial, routed)


def told(outcomes: list[Outcome]) -> list[tuple[int, str]]:
    """List offset and status of outcomes."""
    return [(outcome.record.offset, outcome.status) for outcome in outcomes]


def test_each_row_has_its_answer_in_the_order_of_the_calls(
    writer: Writer, name: str, db: FalkorDB
) -> None:
    """Full and partial calls take effect one after the other; a refused row has its reason."""
    calls = [
        call(name, ("a", "2026-01-01", {"n": 1}), ("b", "2026-01-01", {}), ("a", "2026-01-02", {})),
        call(name, ("a", "2026-01-03", {"m": 3}), partial=True),
        call(name, (" a", "2026-01-03", {}), ("b", "no time", {})),
    ]

    outcomes = writer.write(calls)
    states = lighthouse.history(db.select_graph(name), THING, "a")

    assert told(outcomes) == [
        (0, "created"),
        (1, "created"),
        (2, "changed"),
        (0, "changed"),
        (0, "invalid"),
        (1, "invalid"),
    ]
    assert [outcome.reason is not None for outcome in outcomes] == [False] * 4 + [True] * 2
    assert {(each.graph, each.kind, each.by) for each in outcomes} == {(name, "Thing", "feed")}
    assert [state.get("m") for state in states] == [None, None, 3]
    assert {state["provenance"] for state in states} == {"sensor"}


def test_the_world_and_tenants_are_graphs_of_their_own(writer: Writer, name: str) -> None:
    """The same key in two tenants is two entities."""
    other = f"tenant:x{name[-12:]}"

    outcomes = writer.write(
        [call(name, ("a", "2026-01-01", {})), call(other, ("a", "2026-01-02", {}))]
    )

    assert told(outcomes) == [(0, "created"), (0, "created")]
    writer._graphs.named(other).delete()


def test_a_graph_that_lost_its_schema_gets_it_again(
    writer: Writer, name: str, db: FalkorDB
) -> None:
    """The schema is made before the first row, and once more where the graph was deleted."""
    writer.write([call(name, ("a", "2026-01-01", {}))])
    first = db.select_graph(name).query("CALL db.constraints()").result_set
    db.select_graph(name).delete()

    outcomes = writer.write([call(name, ("a", "2026-01-01", {}))])

    assert told(outcomes) == [(0, "created")]
    again = db.select_graph(name).query("CALL db.constraints()").result_set
    assert first
    assert len(again) == len(first)


class Poison(dict):
    """Values that break whoever looks at them."""

    def __len__(self) -> int:
        raise ZeroDivisionError("poison")

    __iter__ = items = keys = values = __contains__ = get = __len__  # type: ignore[assignment]


@pytest.mark.parametrize("place", [0, 3, 9])
def test_a_row_that_breaks_the_library_stands_alone(writer: Writer, name: str, place: int) -> None:
    """It is failed with the error's text; the others of its call are written."""
    rows: list[tuple[str, str, Any]] = [(f"k{n}", "2026-01-01", {"n": n}) for n in range(10)]
    rows[place] = (f"k{place}", "2026-01-01", Poison(n=1))

    outcomes = writer.write([call(name, *rows)])

    assert [outcome.status for outcome in outcomes].count("created") == 9
    assert outcomes[place].status == "failed"
    assert outcomes[place].reason == "ZeroDivisionError: poison"


def test_a_row_that_the_database_refuses_costs_that_row(
    writer: Writer, name: str, db: FalkorDB
) -> None:
    """In a call of 500 with a constraint that two rows break only the second one is failed."""
    writer.write([call(name, ("first", "2026-01-01", {"serial": "s7"}))])
    graph = db.select_graph(name)
    graph.query("CREATE INDEX FOR (n:Thing) ON (n.serial)")
    graph.execute_command(
        "GRAPH.CONSTRAINT", "CREATE", name, "UNIQUE", "NODE", "Thing", "PROPERTIES", 1, "serial"
    )
    rows = [(f"k{n}", "2026-01-02", {"serial": f"s{n}"}) for n in range(500)]

    outcomes = writer.write([call(name, *rows)])

    assert [o.record.offset for o in outcomes if o.status != "created"] == [7]
    assert outcomes[7].status == "failed"


def test_a_busy_row_is_written_again(
    writer: Writer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that other writers were in the way of is no answer yet: it is tried until it is one."""
    calls: list[list[str]] = []
    through = lighthouse.update_many

    def update_many(graph: Any, kind: Kind, rows: list, by: str, provenance: str) -> list:
        calls.append([row["key"] for row in rows])
        answers = through(graph, kind, rows, by, provenance)
        if len(calls) <= 2:
            answers = [
                {**each, "status": "busy"} if each["key"] == "b" else each for each in answers
            ]
        return answers

    monkeypatch.setattr(lighthouse, "update_many", update_many)
    rows = [(key, "2026-01-01", {"n": 1}) for key in "abc"]

    outcomes = writer.write([call(name, *rows, partial=True)])

    assert calls == [["a", "b", "c"], ["b"], ["b"]]
    assert told(outcomes) == [(0, "created"), (1, "unchanged"), (2, "created")]


def test_a_server_that_is_away_is_waited_for(data: Path) -> None:
    """Killed and started again, it gets the rows; nothing was refused meanwhile."""
    server = embedded.start_graph(data)
    tries: list[int] = []
    back: list[Callable[[], None]] = []

    def retried(_: str) -> None:
        tries.append(1)
        if len(tries) == 2:
            back.append(embedded.start_graph(data).stop)

    graphs = Graphs(lambda: FalkorDB.from_url(server.address))
    writer = Writer(graphs, KINDS, Pressure(lambda: False, retried))
    with ended(server):
        writer.write([call("world", ("a", "2026-01-01", {}))])
        server.kill()
        outcomes = writer.write([call("world", ("b", "2026-01-01", {}))])
        graphs.close()
        back[0]()

    assert told(outcomes) == [(0, "created")]
    assert len(tries) >= 2


def test_a_wait_that_is_given_up_leaves_the_rows_unanswered() -> None:
    """During a stop the writer gives no answers rather than wrong ones."""

    def nowhere() -> FalkorDB:
        raise ServerMissing

    writer = Writer(Graphs(nowhere), KINDS, Pressure(lambda: True))

    with pytest.raises(Abandoned):
        writer.write([call("world", ("a", "2026-01-01", {}))])
