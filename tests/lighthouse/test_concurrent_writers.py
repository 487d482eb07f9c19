"""Four writers at once on the same entities break no rule, and none of their receipts is a lie."""

from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest
from falkordb import FalkorDB, Graph

from tests import delivering
from tests.delivering import answer
from tests.invariants import broken, strays
from tests.oracle import Row, facts_of, fingerprint
from tests.strategies import DECLARED, KEYS_OF_RUNS, ORIGINS, THING, Call, long_run

WRITERS, CALLS = 4, 60
STORED = {"created", "changed", "inserted", "unchanged"}
REFUSED = {"stale", "conflict"}


def write(url: str, name: str, asked: list[Call]) -> list[tuple[Row, str]]:
    """Make calls with a client of one's own; give each row with its status."""
    client = FalkorDB.from_url(url)
    graph = client.select_graph(name)
    try:
        told = [(call.rows, answer(graph, call)) for call in asked]
    finally:
        client.connection.close()
    return [(row, it["status"]) for rows, got in told for row, it in zip(rows, got, strict=True)]


@pytest.mark.parametrize(
    "executor",
    [
        pytest.param(partial(ThreadPoolExecutor, WRITERS), id="threads"),
        pytest.param(partial(ProcessPoolExecutor, WRITERS, get_context("spawn")), id="processes"),
    ],
)
@pytest.mark.parametrize(
    "sorts",
    [
        pytest.param((False,), id="full"),
        pytest.param((True,), id="partial"),
        pytest.param((False, True), id="mixed"),
    ],
)
def test_four_writers_on_the_same_entities_leave_a_sound_history(
    graph_url, graph, executor: Callable[[], Executor], sorts
) -> None:
    """Every rule of the data model holds, every stored row can be read, a retry adds nothing."""
    delivering.prepare(graph)
    asked = [long_run(seed, CALLS, sorts) for seed in range(WRITERS)]

    with executor() as pool:
        runs = [pool.submit(write, graph_url, graph.name, calls) for calls in asked]
        told = [row for run in runs for row in run.result()]

    assert {status for _, status in told} <= STORED | REFUSED | {"busy"}
    assert broken(graph, list(KEYS_OF_RUNS)) == []
    told = [(row, _until_not_busy(graph, row, status)) for row, status in told]
    assert untold(graph, told) == []
    before, tried = left(graph), retried(told)
    calls = [Call("update_many" if row.partial else "remember", (row,), 0) for row, _ in tried]
    again = [status for _, status in write(graph_url, graph.name, calls)]
    assert set(again) <= {"unchanged"} | REFUSED
    assert [
        it for it, now in zip(tried, again, strict=True) if it[1] in STORED and now in REFUSED
    ] == []
    assert left(graph) == before
    assert broken(graph, list(KEYS_OF_RUNS)) + strays(graph) == []


def test_one_of_four_writers_of_one_row_creates_it(graph_url, graph) -> None:
    """The same new rows from four writers: each is created once, and unchanged for the rest."""
    delivering.prepare(graph)
    rows = tuple(
        Row(THING, f"k{n}", ORIGINS[-1], {"v": n}, relations={"IN": ("p",)}) for n in range(40)
    )

    with ThreadPoolExecutor(WRITERS) as pool:
        runs = [
            pool.submit(write, graph_url, graph.name, [Call("remember", rows, 0)])
            for _ in range(WRITERS)
        ]
        told = [row for run in runs for row in run.result()]

    for row in rows:
        statuses = sorted(status for other, status in told if other == row)
        assert statuses == ["created", "unchanged", "unchanged", "unchanged"]
    assert broken(graph, [row.key for row in rows]) == []


# What a test compares.


def untold(graph: Graph, told: list[tuple[Row, str]]) -> list[tuple[Row, str]]:
    """The stored rows whose content cannot be read at their time."""
    return [
        (row, status) for row, status in told if status in STORED and not _can_be_read(graph, row)
    ]


def retried(told: list[tuple[Row, str]]) -> list[tuple[Row, str]]:
    """The rows to try again: all but the partial ones that were refused.

    Where a full row has come since, such a one may be true today, and that is no second effect.
    """
    return [(row, status) for row, status in told if not (row.partial and status in REFUSED)]


def left(graph: Graph) -> list:
    """Everything kept of the entities, times of recording left out."""
    return [
        (delivering.history(graph, THING, key), delivering.edges(graph, THING, key))
        for key in KEYS_OF_RUNS
    ]


def _until_not_busy(graph: Graph, row: Row, status: str) -> str:
    if status != "busy":
        return status
    [again] = answer(graph, Call("update_many", (row,), 0))
    assert again["status"] != "busy"
    return again["status"]


def _can_be_read(graph: Graph, row: Row) -> bool:
    state = delivering.as_of(graph, THING, row.key, row.t)
    if not row.partial:
        return state["fp"] == fingerprint(facts_of(row), DECLARED[THING])
    targets = {
        name: delivering.related(graph, THING, row.key, name, row.t) for name in row.relations
    }
    said = {name: state.get(name) for name in row.values}
    return said == dict(row.values) and targets == {
        name: sorted(to) for name, to in row.relations.items()
    }
