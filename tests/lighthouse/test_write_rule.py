"""The write rule on a real database: the contract's examples, and random rows by the oracle."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations

import pytest
from falkordb import Graph
from hypothesis import assume, given
from hypothesis import strategies as st

import lighthouse
from tests import delivering, oracle
from tests import worked_examples as worked
from tests.delivering import KINDS, deliver
from tests.invariants import broken, strays
from tests.oracle import Key, Row, fingerprint, settled
from tests.strategies import (
    DECLARED,
    EXAMPLES,
    THING,
    Call,
    agreeing,
    calls,
    long_run,
    placed,
    sequences,
)

REFUSED = {"stale", "conflict", "missing"}
TABLES = [worked.values, worked.one_batch, worked.updates, worked.joins]


@pytest.fixture(name="ready")
def _ready(graph: Graph) -> Iterator[Graph]:
    """A graph with the schema of the two kinds and the entries that rows name."""
    delivering.prepare(graph)
    yield graph
    assert strays(graph) == []


@pytest.mark.parametrize("table", TABLES)
def test_each_step_of_a_worked_example_answers_and_leaves_what_the_table_says(ready, table) -> None:
    """The examples of 5.4 and 6 hold step by step, with a call for each row."""
    for step in table("e"):
        assert deliver(ready, [one(step.row)]) == [step.status], step
        if step.states:
            assert worked.shown(delivering.history(ready, THING, "e")) == step.states, step


@pytest.mark.parametrize("table", TABLES)
def test_a_worked_example_in_as_few_calls_as_can_be_leaves_the_same(ready, table) -> None:
    """Rows of one entity in one batch take effect in the order given."""
    steps = table("e")

    statuses = deliver(ready, batches(step.row for step in steps))

    assert statuses == [step.status for step in steps]
    assert worked.shown(delivering.history(ready, THING, "e")) == steps[-1].states
    assert broken(ready, ["e"]) == []


def test_every_order_of_the_relations_example_leaves_the_same_windows(ready) -> None:
    """All 24 orders of the rows of 5.5 leave one history and its windows, in calls or in one."""
    for number, order in enumerate(permutations(range(4))):
        for key, cut in ((f"calls{number}", one), (f"batch{number}", None)):
            rows = [worked.relations(key)[place] for place in order]
            deliver(ready, map(cut, rows) if cut else batches(replace(it, by="one") for it in rows))

            assert worked.shown(delivering.history(ready, THING, key)) == worked.RELATIONS_LEAVE
            left = worked.windows(delivering.edges(ready, THING, key), "IN")
            assert left == worked.WINDOWS_LEFT, order
            assert broken(ready, [key]) == []


def test_an_extended_edge_keeps_its_writer_and_a_cut_one_keeps_its_old_writer(ready) -> None:
    """The writers of the relations of 5.5 are those that the oracle names."""
    model = delivering.model()
    asked = [one(row) for row in worked.relations("e")[:3]]

    assert deliver(ready, asked) == delivering.expected(asked, model)

    assert delivering.edges(ready, THING, "e") == model.edges(THING, "e")


def test_a_joining_row_leaves_no_edge_without_a_moment(ready) -> None:
    """A relation that was cut at a State's beginning, and is denied there, ends before it."""
    rows = [
        worked.row("e", 1, 1, relations={"IN": ("r1", "r2")}),
        worked.row("e", 10, values={"w": 1}, partial=True),
        worked.row("e", 20, 3, relations={"IN": ("r2",)}),
        worked.row("e", 5, 9),
        worked.row("e", 10, values={}, relations={"IN": ()}, partial=True),
    ]
    model = delivering.model()
    asked = [one(row) for row in rows]

    assert deliver(ready, asked) == ["created", "changed", "changed", "inserted", "inserted"]
    delivering.expected(asked, model)

    left = worked.windows(delivering.edges(ready, THING, "e"), "IN")
    assert left == {"r1": ["[1,5)"], "r2": ["[1,5)", "[20,-)"]}
    assert delivering.edges(ready, THING, "e") == model.edges(THING, "e")
    assert broken(ready, ["e"]) == []


def test_evidence_that_adds_no_state_is_kept_beside_the_first(ready) -> None:
    """A late row equal to the next State, and a row that joins one, leave their entries at it."""
    moved = [
        worked.row("m", t, 1, entry=entry) for t, entry in ((5, "lab/1"), (3, "lab/2"), (1, None))
    ]
    joined = [
        worked.row("j", 5, values={name: 1}, entry=entry, partial=True)
        for name, entry in (("v", "lab/1"), ("w", "lab/2"), ("x", "lab/1"))
    ]
    repeated = [worked.row("r", t, 1, entry=entry) for t, entry in ((5, "lab/1"), (6, "lab/2"))]
    late = [worked.row("l", t, 1, entry=entry) for t, entry in ((5, None), (3, "lab/2"))]

    deliver(ready, map(one, moved + joined + repeated + late))

    kept = {key: delivering.history(ready, THING, key) for key in ("m", "j", "r", "l")}
    assert [(it["entry"], it.get("entries")) for [it] in kept.values()] == [
        ("lab/1", ["lab/1", "lab/2"]),
        ("lab/1", ["lab/1", "lab/2"]),
        ("lab/1", None),
        ("lab/2", None),
    ]


@EXAMPLES
@given(sequences(partial=False), st.data())
def test_what_is_refused_is_kept_and_counted(ready, order, data) -> None:
    """Refused full rows leave one node for each content, with its count and first and last time."""
    model = delivering.model()
    asked = data.draw(calls(placed(order)))

    deliver(ready, asked)
    delivering.expected(asked, model)

    told = {name: [it.times, it.first_t, it.last_t] for name, it in model.failures.items()}
    assert delivering.failures(ready, {key for _, key in entities(asked)}) == told


@EXAMPLES
@given(sequences(), st.data())
def test_any_deliveries_answer_and_leave_what_the_oracle_says(ready, order, data) -> None:
    """Any order and batching: statuses, windows and reads at every moment are the oracle's."""
    model = delivering.model()
    asked = data.draw(calls(placed(order)))

    assert deliver(ready, asked) == delivering.expected(asked, model)

    assert_alike(ready, model, asked)


@pytest.mark.parametrize("apart", [0, 500_000])
@pytest.mark.parametrize("seed", range(4))
def test_a_long_history_is_what_the_oracle_says(ready, seed, apart) -> None:
    """Hundreds of rows of three entities, late and partial ones among them, leave no difference."""
    model = delivering.model()
    asked = long_run(seed, 60, (False, True), apart)

    statuses = [deliver(ready, [call]) for call in asked]

    assert statuses == [delivering.expected([call], model) for call in asked]
    for entity in entities(asked):
        assert exact(delivering.history(ready, *entity)) == exact(model.history(*entity))
        assert delivering.edges(ready, *entity) == model.edges(*entity)
    assert broken(ready, [key for _, key in entities(asked)]) == []


@EXAMPLES
@given(sequences(one_entity=True, most=20), st.booleans())
def test_one_batch_of_many_rows_of_one_entity_is_the_same_as_one_call_for_each(
    ready, order, partial
) -> None:
    """A whole history of one entity in one batch leaves what its rows leave one at a time."""
    rows = [replace(row, by="feed", partial=partial) for row in order]
    model = delivering.model()
    asked = batches(placed(rows))

    assert len(asked) == 1
    assert deliver(ready, asked) == delivering.expected(asked, model)

    assert_alike(ready, model, asked)


@EXAMPLES
@given(sequences(), st.data())
def test_a_tail_delivered_again_changes_nothing(ready, order, data) -> None:
    """A tail has no second effect, unless a partial row of it was refused the first time."""
    asked = data.draw(calls(placed(order)))
    statuses = deliver(ready, asked)
    told = list(zip((row for call in asked for row in call.rows), statuses, strict=True))
    kept = data.draw(st.integers(0, len(told)))
    tail = [row for row, status in told[kept:] if not (row.partial and status in REFUSED)]
    before = all_left(ready, asked)

    again = deliver(ready, data.draw(calls(tail)))

    assert set(again) <= {"unchanged"} | REFUSED
    assert all_left(ready, asked) == before


@EXAMPLES
@given(sequences(), st.data())
def test_full_rows_delivered_again_add_no_state(ready, order, data) -> None:
    """A replay of all full rows, in any order, answers nothing but unchanged and refusals."""
    asked = data.draw(calls(placed(order)))
    deliver(ready, asked)
    full = [row for call in asked for row in call.rows if not row.partial]
    before = all_left(ready, asked)

    again = deliver(ready, batches(data.draw(st.permutations(full))))

    assert set(again) <= {"unchanged"} | REFUSED
    assert all_left(ready, asked) == before


@EXAMPLES
@given(agreeing(), st.data())
def test_the_digest_tells_histories_apart_and_not_their_orders_of_arrival(
    ready, rows, data
) -> None:
    """One digest for every order without refusals; another one when one value differs."""
    other = data.draw(st.permutations(rows))
    place = data.draw(st.integers(0, len(rows) - 1))
    altered = list(rows)
    altered[place] = replace(rows[place], values={**rows[place].values, "v": "another"})
    assume(all(refusals(order) == 0 for order in (rows, other, altered)))

    digests = [digest_of(ready, data.draw(calls(order))) for order in (rows, other, altered)]

    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


@EXAMPLES
@given(agreeing(), st.data())
def test_an_order_without_refusals_leaves_the_settled_history(ready, rows, data) -> None:
    """The rows sorted by time tell the history, whatever their order of arrival was."""
    assume(refusals(rows) == 0)
    rows = placed(rows)
    key = rows[0].key

    deliver(ready, data.draw(calls(rows)))

    states = [
        (state["fp"], state["valid_from"], state.get("valid_to"), state.get("seen_last"))
        for state in delivering.history(ready, THING, key)
    ]
    assert states == [(fingerprint(it[0], DECLARED[THING]), *it[1:]) for it in settled(rows)]
    windows = {edge[:4] for edge in delivering.edges(ready, THING, key)}
    assert windows == set(oracle.settled_edges(rows))


# What a test compares.


def one(row: Row) -> Call:
    """A call with one row."""
    return Call("update" if row.partial else "remember", (row,), 0)


def batches(order: Iterable[Row]) -> list[Call]:
    """As few calls as keep the order: neighbours of one kind, writer and sort share one."""
    together: list[list[Row]] = []
    for row in order:
        last = together[-1][-1] if together else None
        if last and (last.kind, last.by, last.partial) == (row.kind, row.by, row.partial):
            together[-1].append(row)
        else:
            together.append([row])
    return [
        Call("update_many" if rows[0].partial else "remember", tuple(rows), 0) for rows in together
    ]


def assert_alike(graph: Graph, model: oracle.Graph, asked: list[Call]) -> None:
    """Compare everything that can be read of the entities of these calls with the oracle."""
    moments = sorted({row.t + step for call in asked for row in call.rows for step in (-1, 0, 1)})
    for kind, key in entities(asked):
        assert exact(delivering.history(graph, kind, key)) == exact(model.history(kind, key))
        assert delivering.edges(graph, kind, key) == model.edges(kind, key)
        for at in moments:
            state = delivering.as_of(graph, kind, key, at)
            assert exact([state]) == exact([model.as_of(kind, key, at)])
        for relation in DECLARED[kind]:
            for at in [None, *moments]:
                targets = delivering.related(graph, kind, key, relation, at)
                assert targets == model.related(kind, key, relation, at), (kind, key, relation, at)
    assert broken(graph, [key for _, key in entities(asked)]) == []


def all_left(graph: Graph, asked: list[Call]) -> list:
    """Everything kept of the entities of these calls, times of recording left out."""
    return [
        (exact(delivering.history(graph, *entity)), delivering.edges(graph, *entity))
        for entity in entities(asked)
    ]


def entities(asked: list[Call]) -> list[tuple[str, Key]]:
    """The entities of the rows of these calls, each once."""
    return list(dict.fromkeys((row.kind, row.key) for call in asked for row in call.rows))


def exact(states: list[dict | None]) -> list[str]:
    """States as texts in which 1, 1.0 and true differ."""
    return [json.dumps(state, sort_keys=True) for state in states]


def refusals(rows: list[Row]) -> int:
    """How many of these rows the oracle refuses in this order."""
    model = delivering.model()
    return sum(model.deliver(row) in REFUSED for row in rows)


def digest_of(graph: Graph, asked: list[Call]) -> str:
    """The digest of a graph that holds what these calls leave and nothing else."""
    graph.query("MATCH (n) WHERE n:Entity OR n:State OR n:WriteFailure DELETE n")
    deliver(graph, asked)
    return lighthouse.digest(graph, list(KINDS.values()))
