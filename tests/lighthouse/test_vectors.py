"""A text that changes takes the vector away and makes the entity wait for another; nothing else does."""

import pytest
from falkordb import Graph

from lighthouse import Kind, ensure_schema, remember, update

DOC = Kind("Doc", text=["title", "body"], dimensions=3)


@pytest.fixture(name="docs")
def _docs(graph: Graph) -> Graph:
    """One document that has its vector."""
    ensure_schema(graph, [DOC])
    _say(graph, 1, title="a", n=1)
    graph.query(
        "MATCH (e:Doc) CREATE (e)-[:EMBEDDED_AS]->(:DocVector {vector: vecf32([1, 2, 3]), model: 'm'})"
        " REMOVE e:DocToEmbed"
    )
    return graph


def _say(graph: Graph, *days: int, **values: object) -> list[str]:
    rows = [{"key": "k", "t": f"2026-01-{day:02d}", "values": values} for day in days]
    return [receipt["status"] for receipt in remember(graph, DOC, rows, "me")]


def _state(graph: Graph) -> tuple[bool, bool]:
    """Whether the document waits, and whether it has a vector."""
    text = (
        "MATCH (e:Doc {key: 'k'}) OPTIONAL MATCH (e)-[:EMBEDDED_AS]->(v)"
        " RETURN labels(e), v.vector IS NOT NULL"
    )
    [[labels, has]] = graph.query(text).result_set
    return "DocToEmbed" in labels, has


@pytest.mark.parametrize(
    ("values", "waits", "has"),
    [
        pytest.param({"title": "b", "n": 1}, True, False, id="another text"),
        pytest.param({"title": "a", "body": "x"}, True, False, id="one text more"),
        pytest.param({"title": ["a"]}, True, False, id="a list of it"),
        pytest.param({"title": "a", "n": 2}, False, True, id="another value only"),
        pytest.param({"title": "a", "body": "", "n": 2}, False, True, id="an empty text more"),
        pytest.param({"n": 2}, False, False, id="no text any more"),
    ],
)
def test_a_changed_row_takes_the_vector_with_the_text(docs, values, waits, has) -> None:
    """Absent and empty are one; without text there is nothing to wait for."""
    assert _say(docs, 2, **values) == ["changed"]

    assert _state(docs) == (waits, has)


def test_a_new_entity_waits_where_it_has_text(graph) -> None:
    """One without text does not."""
    ensure_schema(graph, [DOC])
    rows = [
        {"key": "k", "t": "2026-01-01", "values": {"title": "a"}},
        {"key": "none", "t": "2026-01-01", "values": {"n": 1}},
    ]

    remember(graph, DOC, rows, "me")

    assert _state(graph) == (True, False)
    assert graph.query("MATCH (e:DocToEmbed) RETURN e.key").result_set == [["k"]]


def test_late_rows_touch_neither(docs) -> None:
    """What was true earlier says nothing of the current text."""
    _say(docs, 5, title="a", n=5)

    assert _say(docs, 3, title="other") == ["inserted"]

    assert _state(docs) == (False, True)


def test_a_chain_counts_where_it_ends(docs) -> None:
    """Of several rows in one batch the last one's text decides."""
    assert _say(docs, 2, 3, title="a", n=2) == ["changed", "unchanged"]
    back = [
        {"key": "k", "t": "2026-01-05", "values": {"title": "b"}},
        {"key": "k", "t": "2026-01-06", "values": {"title": "a"}},
    ]
    remember(docs, DOC, back, "me")
    assert _state(docs) == (False, True)

    back = [
        {"key": "k", "t": "2026-01-07", "values": {"title": "a", "n": 7}},
        {"key": "k", "t": "2026-01-08", "values": {"title": "c"}},
    ]
    remember(docs, DOC, back, "me")
    assert _state(docs) == (True, False)


def test_a_partial_row_that_joins_counts_too(docs) -> None:
    """The text of a State that is joined by another name becomes the entity's."""
    update(docs, DOC, "k", "2026-01-02", "me", values={"n": 2})
    assert _state(docs) == (False, True)

    assert update(docs, DOC, "k", "2026-01-02", "me", values={"body": "x"})["status"] == "changed"
    assert _state(docs) == (True, False)
