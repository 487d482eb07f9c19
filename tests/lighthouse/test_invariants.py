"""The checks that other tests rely on can fail: each planted fault is found and named."""

import pytest

from tests import delivering
from tests import worked_examples as worked
from tests.invariants import broken, strays
from tests.strategies import THING, Call

_OPEN = "MATCH (e:Thing {key: 'e'})-[:HAS_STATE]->(s:State) WHERE s.valid_to IS NULL "
_FIRST = "MATCH (e:Thing {key: 'e'})-[:HAS_STATE]->(s:State) WHERE s.v = 'A' "
_EDGE = "MATCH (e:Thing {key: 'e'})-[r:IN]->(o:Place {name: 'r4'}) "

FAULTS = {
    "a second open State": (
        _OPEN + "CREATE (e)-[:HAS_STATE]->(:State {`valid_from:us`: s.`valid_from:us` + 1,"
        " valid_from: s.valid_from, recorded_at: s.recorded_at, `recorded_at:us`: s.`recorded_at:us`})",
        "not one open State",
    ),
    "no open State": (_OPEN + "SET s.`valid_to:us` = 2000000000000000", "not one open State"),
    "a gap": (_OPEN + "SET s.`valid_from:us` = s.`valid_from:us` + 1", "do not touch"),
    "an overlap": (_OPEN + "SET s.`valid_from:us` = s.`valid_from:us` - 1", "do not touch"),
    "a missing NEXT": ("MATCH (:State {v: 'A'})-[n:NEXT]->() DELETE n", "NEXT"),
    "a second NEXT": ("MATCH (a:State {v: 'A'})-[:NEXT]->(b) CREATE (a)-[:NEXT]->(b)", "NEXT"),
    "a NEXT that skips": (
        "MATCH (a:State {v: 'A'}), (c:State {v: 'C'}) CREATE (a)-[:NEXT]->(c)",
        "NEXT",
    ),
    "a NEXT that turns back": (
        "MATCH (a:State {v: 'A'})-[n:NEXT]->(b) DELETE n CREATE (b)-[:NEXT]->(a)",
        "NEXT",
    ),
    "a State of another": (
        _FIRST
        + "MATCH (e)-[h:HAS_STATE]->(s) DELETE h CREATE (:Thing {key: 'f'})-[:HAS_STATE]->(s)",
        "NEXT",
    ),
    "a sighting after the end": (_FIRST + "SET s.`seen_last:us` = s.`valid_to:us`", "sighting"),
    "a sighting at the beginning": (
        _FIRST + "SET s.`seen_last:us` = s.`valid_from:us`",
        "beginning",
    ),
    "a readable time that is another": (
        _FIRST + "SET s.valid_from = localdatetime('2020-01-01T00:00:00')",
        "beside it",
    ),
    "a readable time alone": (
        _OPEN + "SET s.seen_last = s.valid_from, s.`seen_last:us` = null",
        "twin",
    ),
    "an empty window of an edge": (
        _EDGE + "SET r.`valid_to:us` = r.`valid_from:us`",
        "empty window",
    ),
    "an edge without its integer": (_EDGE + "SET r.valid_to = null", "without its twin"),
    "an edge that goes on too long": (
        _EDGE + "SET r.valid_to = null, r.`valid_to:us` = null",
        "by edges",
    ),
    "an edge that ends too early": (
        _EDGE + "SET r.`valid_to:us` = r.`valid_from:us` + 1",
        "turns inside",
    ),
    "a missing edge": (_EDGE + "DELETE r", "by edges"),
    "a target without its label": (_EDGE + "REMOVE o:Entity", "labels"),
    "an entity without its label": ("MATCH (e:Thing {key: 'e'}) REMOVE e:Entity", "labels"),
    "an entity that says something else": (
        "MATCH (e:Thing {key: 'e'}) SET e.v = 'Z'",
        "the entity says",
    ),
}


@pytest.fixture(name="told")
def _told(graph):
    """A graph that holds the relations example of the contract."""
    delivering.prepare(graph)
    for row in worked.relations("e"):
        delivering.deliver(graph, [Call("remember", (row,), 0)])
    return graph


def test_a_sound_graph_breaks_nothing(told) -> None:
    """The twin of every planted fault: nothing is found where nothing is wrong."""
    assert broken(told, ["e"]) == []
    assert strays(told) == []
    assert len(delivering.edges(told, THING, "e")) == 5


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(told, fault) -> None:
    """Each rule of the data model is looked at: one broken by hand is named."""
    query, named = FAULTS[fault]
    told.query(query)

    found = broken(told, ["e"])

    assert any(named in wrong for wrong in found), found


@pytest.mark.parametrize(
    "query",
    [
        _FIRST + "CREATE (:Thing:Entity {key: 'f'})-[:HAS_STATE]->(s)",
        _FIRST + "MATCH (e)-[h:HAS_STATE]->(s) DELETE h",
        "CREATE (:State {v: 1})",
    ],
)
def test_a_state_without_one_owner_is_found(told, query) -> None:
    """A State belongs to one entity: one of two, and one of none, are listed."""
    told.query(query)

    assert len(strays(told)) == 1
