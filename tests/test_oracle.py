"""The oracle gives the contract's own examples, and its two ways to tell a history agree."""

from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import worked_examples as worked
from tests.oracle import Entity, Graph, Row, fingerprint, holds, settled, settled_edges, targets_of
from tests.strategies import DECLARED, ENTRIES, EXAMPLES, THING, agreeing, sequences

REFUSED = {"stale", "conflict", "missing"}
TABLES = [worked.values, worked.one_batch, worked.updates, worked.joins]


@pytest.mark.parametrize("table", TABLES)
def test_each_step_of_a_worked_example_answers_and_leaves_what_the_table_says(table) -> None:
    """A worked example holds step by step."""
    graph = Graph(DECLARED)

    for step in table("e"):
        assert graph.deliver(step.row) == step.status, step
        if step.states:
            assert worked.shown(graph.history(THING, "e")) == step.states, step


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_every_order_of_the_relations_example_leaves_the_same_windows(order) -> None:
    """All 24 orders of the rows of 5.5 give one history and one set of windows."""
    rows = worked.relations("e")
    graph = Graph(DECLARED)

    for place in order:
        graph.deliver(rows[place])

    assert worked.shown(graph.history(THING, "e")) == worked.RELATIONS_LEAVE
    assert worked.windows(graph.edges(THING, "e"), "IN") == worked.WINDOWS_LEFT


def test_an_extended_edge_keeps_its_writer_and_a_cut_one_keeps_its_old_writer() -> None:
    """The writers of the relations of 5.5 are those that the contract names."""
    graph = Graph(DECLARED)
    for row in worked.relations("e")[:3]:
        graph.deliver(row)

    writers = {(edge[1], edge[2] - worked.ORIGIN): edge[4] for edge in graph.edges(THING, "e")}

    second = worked.SECOND
    assert writers == {
        ("r1", second): "first",
        ("r2", second): "first",
        ("r2", 10 * second): "first",
        ("r3", 5 * second): "second",
        ("r4", 5 * second): "late",
    }


def test_the_windows_of_an_update_follow_its_relations() -> None:
    """The relation of section 6 holds from the first update to the one that takes it away."""
    graph = Graph(DECLARED)
    for step in worked.updates("e"):
        graph.deliver(step.row)

    assert worked.windows(graph.edges(THING, "e"), "IN") == {"r1": ["[1,5)"]}
    assert graph.related(THING, "e", "IN") == []
    assert graph.related(THING, "e", "IN", worked.at(4.999_999)) == ["r1"]


def test_a_missing_entry_is_refused_before_anything_else() -> None:
    """A row whose evidence is unknown is `missing`, even where it would be in conflict."""
    graph = Graph(DECLARED, ENTRIES)
    graph.deliver(worked.row("e", 1, "A", entry="lab/1"))

    assert graph.deliver(worked.row("e", 1, "B", entry="nowhere/1")) == "missing"
    assert graph.history(THING, "e")[0]["entry"] == "lab/1"


def test_evidence_of_a_row_that_moves_the_next_state_is_kept_beside_the_first() -> None:
    """A late row equal to the next State adds its entry to that State."""
    graph = Graph(DECLARED, ENTRIES)
    graph.deliver(worked.row("e", 5, "A", entry="lab/1"))

    assert graph.deliver(worked.row("e", 3, "A", entry="lab/2")) == "inserted"
    assert graph.history(THING, "e")[0]["entries"] == ["lab/1", "lab/2"]


def test_refusals_of_one_content_are_counted_with_their_first_and_latest_time() -> None:
    """The same content refused at two moments is one failure that knows both."""
    graph = Graph(DECLARED)
    for step in worked.values("e"):
        graph.deliver(step.row)

    kept = {(reason, text[8:9]): it for (reason, _, _, text), it in graph.failures.items()}

    assert kept["conflict", "C"].times == 2
    assert (kept["conflict", "C"].first_t, kept["conflict", "C"].last_t) == (
        worked.at(10),
        worked.at(12),
    )
    assert kept["stale", "Q"].times == 1


def test_content_is_compared_with_its_types() -> None:
    """1, 1.0, true and the text 1 are four contents; the order of targets is none."""
    prints = {
        fingerprint({("values", "v"): value}, DECLARED[THING]) for value in (1, 1.0, True, "1")
    }
    graph = Graph(DECLARED)
    graph.deliver(worked.row("e", 1, 1, relations={"IN": ("b", 2, "a", 10)}))

    assert len(prints) == 4
    assert graph.deliver(worked.row("e", 2, 1, relations={"IN": (10, "a", 2, "b")})) == "unchanged"
    assert graph.deliver(worked.row("e", 3, 1.0, relations={"IN": (10, "a", 2, "b")})) == "changed"
    assert graph.related(THING, "e", "IN") == ["a", "b", 2, 10]


@EXAMPLES
@given(agreeing(), st.integers(0, 3))
def test_an_order_without_refusals_gives_the_settled_history(rows: list[Row], again: int) -> None:
    """Where no row is stale or in conflict, the order of arrival leaves no trace."""
    graph = Graph(DECLARED)
    assume(not {graph.deliver(row) for row in rows + rows[:again]} & REFUSED)

    states = [
        (state["fp"], state["valid_from"], state.get("valid_to"), state.get("seen_last"))
        for state in graph.history(THING, "a")
    ]

    assert states == [(fingerprint(it[0], DECLARED[THING]), *it[1:]) for it in settled(rows)]
    assert {edge[:4] for edge in graph.edges(THING, "a")} == set(settled_edges(rows))


@EXAMPLES
@given(sequences())
def test_the_relations_at_every_moment_are_those_that_the_state_there_names(order) -> None:
    """Edges have windows of their own, and still say what the States were told."""
    graph = Graph(DECLARED, ENTRIES)
    for row in order:
        graph.deliver(row)

    for entity in graph.entities.values():
        assert _disagreements(entity) == []


@EXAMPLES
@given(sequences())
def test_full_rows_delivered_again_add_no_state(order: list[Row]) -> None:
    """A replay of all full rows answers nothing but unchanged and refusals."""
    graph = Graph(DECLARED, ENTRIES)
    for row in order:
        graph.deliver(row)

    again = {graph.deliver(row) for row in order if not row.partial}

    assert again <= {"unchanged"} | REFUSED


@EXAMPLES
@given(sequences(), st.integers(0, 14))
def test_a_tail_delivered_again_changes_nothing(order: list[Row], kept: int) -> None:
    """A tail has no second effect, unless a partial row of it was refused the first time."""
    graph = Graph(DECLARED, ENTRIES)
    first = [graph.deliver(row) for row in order]
    tail = [
        row
        for row, status in zip(order[kept:], first[kept:], strict=True)
        if not (row.partial and status in REFUSED)
    ]
    before = repr(_histories(graph))

    again = {graph.deliver(row) for row in tail}

    assert again <= {"unchanged"} | REFUSED
    assert repr(_histories(graph)) == before


def _histories(graph: Graph) -> list:
    return [(graph.history(*name), graph.edges(*name)) for name in sorted(graph.entities, key=repr)]


def _disagreements(entity: Entity) -> list[tuple]:
    wrong = []
    for state in entity.states:
        ends = {edge.valid_from for edge in entity.edges} | {state.valid_from}
        for when in ends:
            held = {(it.relation, it.target) for it in entity.edges if holds(it, when)}
            if holds(state, when) and held != targets_of(state.facts):
                wrong.append((when, state, held))
    return wrong
