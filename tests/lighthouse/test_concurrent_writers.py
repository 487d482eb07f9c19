"""Four writers at once on the same entities break no rule, and none of their receipts is a lie."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest
from falkordb import FalkorDB, Graph
from hypothesis import given
from hypothesis import strategies as st

from tests import delivering
from tests import worked_examples as worked
from tests.delivering import answer
from tests.invariants import broken, strays
from tests.oracle import Row, facts_of, fingerprint
from tests.strategies import (
    DECLARED,
    EXAMPLES,
    KEYS_OF_RUNS,
    ORIGINS,
    THING,
    Call,
    long_run,
    overtakings,
)

WRITERS, CALLS = 4, 60
FULL, PART = partial(worked.row, "k"), partial(worked.row, "k", partial=True)
IN_1, IN_2 = {"relations": {"IN": ("r1",)}}, {"relations": {"IN": ("r2",)}}
#: Rows of one entity: what comes before, then the one that is overtaken, then the one that does it.
RACES = {
    "new by a new one": (FULL(10, 1, **IN_1), FULL(5, 2, **IN_2)),
    "new by an equal one": (FULL(10, 1), FULL(10, 1)),
    "new by a partial one": (FULL(10, 1), PART(10, 1, **IN_1)),
    "partial by a new one": (PART(10, 1), FULL(10, 2, **IN_1)),
    "change by a change": (FULL(1, 1, **IN_1), FULL(10, 2), FULL(20, 3, **IN_2)),
    "change by an earlier one": (FULL(1, 1, **IN_1), FULL(10, 2), FULL(5, 3, **IN_2)),
    "change by a sighting": (FULL(1, 1), FULL(10, 2), FULL(15, 1)),
    "change by an earlier sighting": (FULL(1, 1), FULL(10, 2), FULL(5, 1)),
    "sighting by a change": (FULL(1, 1), FULL(10, 1), FULL(5, 2)),
    "sighting by a later sighting": (FULL(1, 1), FULL(10, 1), FULL(15, 1)),
    "change by a join of a relation": (PART(10, 1), FULL(20, 2), PART(10, **IN_1)),
    "sighting by a join of a relation": (PART(10, 1), FULL(20, 1), PART(10, **IN_1)),
    "sighting by a join of a value": (PART(10, 1), FULL(20, 1), PART(10, values={"w": 1})),
    "change to what a join makes": (
        PART(10, 1),
        FULL(20, values={"v": 1, "w": 1}),
        PART(10, values={"w": 1}),
    ),
    "update by a change": (FULL(1, 1, **IN_1), PART(10, values={"w": 1}), FULL(5, 2, **IN_2)),
    "update by a late row": (FULL(1, 1), FULL(9, 2), PART(10, values={"w": 1}), FULL(5, 3, **IN_2)),
    "join by the same name": (PART(1, 1), PART(1, values={"w": 1}), PART(1, values={"w": 2})),
    "join by another name": (PART(1, 1), PART(1, values={"w": 1}), PART(1, values={"x": 2})),
    "join by a name that stays": (
        PART(1, 1),
        PART(1, values={"w": 1}),
        PART(1, values={"w": None}),
    ),
    "join by a sighting": (PART(1, 1), PART(1, values={"w": 1}), FULL(5, 1)),
    "join by a full row": (PART(1, 1), PART(1, values={"w": 1}), FULL(1, 1)),
    "late by a late one": (
        *(FULL(1, 1, **IN_1), FULL(20, 2, **IN_1)),
        *(FULL(10, 9), FULL(5, 8, **IN_2)),
    ),
    "late by a later one": (
        *(FULL(1, 1, **IN_1), FULL(20, 2, **IN_2)),
        *(FULL(10, 2, **IN_2), FULL(15, 3, relations={"IN": ("r1", "r2")})),
    ),
    "late by a sighting": (FULL(1, 1), FULL(20, 2), FULL(10, 9), FULL(15, 1)),
    "late by a join before": (PART(5, 1), FULL(20, 2), FULL(10, 9), PART(5, **IN_1)),
    "late sighting by a join": (PART(5, 1), FULL(20, 2), FULL(10, 1), PART(5, values={"w": 1})),
    "late by a join after": (
        FULL(1, 7),
        PART(9, 1),
        FULL(20, 2),
        FULL(5, 1),
        PART(9, values={"w": 1}),
    ),
    "late by the first": (FULL(20, 2, **IN_1), FULL(10, 3, **IN_2), FULL(5, 2, **IN_1)),
}
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


@pytest.fixture(name="ready")
def _ready(graph: Graph) -> Iterator[Graph]:
    """A graph with the schema of the two kinds and the entries that rows name."""
    delivering.prepare(graph)
    yield graph
    assert strays(graph) == []


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
    calls = [one(row) for row, _ in tried]
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


@pytest.mark.parametrize("query", range(1, 5))
@pytest.mark.parametrize("name", RACES)
def test_a_row_is_judged_by_what_another_made_of_what_it_had_read(ready, name, query) -> None:
    """Whatever a writer has read may be another one's by now: it looks again, or its write does."""
    *before, mine, other = [one(row) for row in RACES[name]]
    delivering.deliver(ready, before)
    waiting = [other]

    def overtake(now: int) -> None:
        if now == query and waiting:
            answer(ready, waiting.pop())

    statuses = delivering.deliver(Overtaken(ready, overtake), [mine])
    delivering.deliver(ready, waiting)

    states, windows = delivering.history(ready, THING, "k"), delivering.edges(ready, THING, "k")
    possible = [in_turn(before, [other], mine, place) for place in (0, 1)]
    assert (statuses, exact(states), windows) in possible
    assert broken(ready, ["k"]) == []


@EXAMPLES
@given(overtakings(), st.lists(st.integers(1, 5), min_size=3, max_size=3))
def test_a_call_overtaken_at_any_of_its_queries_took_effect_at_one_moment(
    ready, asked, moments
) -> None:
    """Whatever others write between its queries, a call leaves what it would before or after."""
    before, mine, others = asked
    delivering.deliver(ready, before)
    waiting = list(zip(sorted(moments), others, strict=False))

    def overtake(query: int) -> None:
        while waiting and waiting[0][0] <= query:
            answer(ready, waiting.pop(0)[1])

    statuses = delivering.deliver(Overtaken(ready, overtake), [mine])
    delivering.deliver(ready, [call for _, call in waiting])

    key = mine.rows[0].key
    states, windows = delivering.history(ready, THING, key), delivering.edges(ready, THING, key)
    possible = [in_turn(before, others, mine, place) for place in range(len(others) + 1)]
    assert (statuses, exact(states), windows) in possible
    assert broken(ready, [key]) == []


# What a test compares.


class Overtaken:
    """A graph that passes everything on, and lets others act before each of its queries."""

    def __init__(self, graph: Graph, overtake: Callable[[int], None]) -> None:
        self._graph = graph
        self._overtake = overtake
        self._queries = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._graph, name)

    def query(self, *asked: object, **more: object) -> object:
        """Pass on a query that may write."""
        return self._after_others(self._graph.query, *asked, **more)

    def ro_query(self, *asked: object, **more: object) -> object:
        """Pass on a query that reads."""
        return self._after_others(self._graph.ro_query, *asked, **more)

    def _after_others(self, send: Callable, *asked: object, **more: object) -> object:
        self._overtake(self._queries)
        self._queries += 1
        return send(*asked, **more)


def one(row: Row) -> Call:
    """A call with one row."""
    return Call("update_many" if row.partial else "remember", (row,), 0)


def in_turn(before: list[Call], others: list[Call], mine: Call, place: int) -> tuple:
    """What the oracle answers to a call after so many of the others, and what is left in the end."""
    model = delivering.model()
    delivering.expected(before + others[:place], model)
    statuses = delivering.expected([mine], model)
    delivering.expected(others[place:], model)
    key = mine.rows[0].key
    return statuses, exact(model.history(THING, key)), model.edges(THING, key)


def exact(states: list[dict]) -> str:
    """States as a text in which 1, 1.0 and true differ."""
    return json.dumps(states, sort_keys=True)


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
    [again] = answer(graph, one(row))
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
