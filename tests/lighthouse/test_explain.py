"""How the database finds what a query asks for: no path of the library scans."""

import re
import secrets
from datetime import UTC, datetime, timedelta

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import SELF, Kind

ROOM = Kind("Room")
THING = Kind("Thing", times=("built",), relations={"IN": ROOM, "NEAR": SELF}, text=("note",))

#: What a plan must not hold, with what is wrong about it.
_WRONG = {
    r"All Node Scan": "looks at every node",
    r"Scan \| \(\w*:State\b": "starts at the States, which are many more than the entities",
    r"Value Hash Join": "joins two whole sets",
    r"Cartesian Product": "pairs everything with everything",
}


class Recording:
    """A graph that passes everything on and keeps the text of each query."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.texts: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._graph, name)

    def query(self, text: str, *given, **named) -> object:
        """Keep the text of a query that writes and run it."""
        self.texts.append(text)
        return self._graph.query(text, *given, **named)

    def ro_query(self, text: str, *given, **named) -> object:
        """Keep the text of a query that reads and run it."""
        self.texts.append(text)
        return self._graph.ro_query(text, *given, **named)


def wrong(graph: Graph, text: str) -> list[str]:
    """What is wrong with the plan of a query."""
    plan = str(graph.explain(text))
    return [
        f"{found[0]}: {why}" for sign, why in _WRONG.items() if (found := re.search(sign, plan))
    ]


def day(number: float) -> datetime:
    """A moment of January 2026."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def row(key: object, t: float, value: object, *rooms: str, **more: object) -> dict:
    """A row with every sort of property."""
    values = {"v": value, "note": f"note {value}", "built": day(0), "f": 0.1 + 0.2}
    return {
        "key": key, "t": day(t), "values": values,
        "relations": {"IN": list(rooms), "NEAR": key}, **more,
    }  # fmt: skip


@pytest.fixture(name="things", scope="module")
def _things(db) -> Graph:
    """A graph of some size, in which 300 things have two States each."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    lighthouse.ensure_schema(graph, [THING])
    graph.query("UNWIND range(1, 50) AS i CREATE (:Entry {id: 'lab/' + i})")
    for t, value, rooms in ((10, 1, ("a", "b")), (20, 2, ("b", "c"))):
        lighthouse.remember(graph, THING, [row(n, t, value, *rooms) for n in range(300)], by="feed")
    yield graph
    graph.delete()


def _remember(*rows: dict):
    return lambda graph: lighthouse.remember(graph, THING, rows, by="feed", provenance="sensor")


def _update(*rows: dict):
    return lambda graph: lighthouse.update_many(graph, THING, rows, by="feed")


def _part(key: object, t: float, **said: object) -> dict:
    relations = said.pop("relations", None)
    return {"key": key, "t": day(t), "values": said, "relations": relations}


#: Each path of the library, with the statuses by which it is known that it was taken.
PATHS = {
    "created": (_remember(row("new", 1, 1, "a"), row("newer", 1, 1, "z")), {"created"}),
    "created with evidence": (_remember(row("proved", 1, 1, "a", entry="lab/1")), {"created"}),
    "created over a target": (
        _remember(row("near", 1, 1), {**row("x", 1, 1), "key": "y"}),
        {"created"},
    ),
    "changed": (_remember(row(1, 30, 3, "b", "c"), row(2, 30, 3, "b", "c")), {"changed"}),
    "changed, other relations": (_remember(row(3, 30, 3, "d"), row(4, 30, 3)), {"changed"}),
    "changed with evidence": (_remember(row(5, 30, 3, "d", entry="lab/2")), {"changed"}),
    "several rows of one": (
        _remember(row(6, 30, 3, "d"), row(6, 31, 4), row(6, 25, 5)),
        {"changed", "inserted"},
    ),
    "unchanged": (_remember(row(7, 20, 2, "b", "c")), {"unchanged"}),
    "seen": (_remember(row(8, 22, 2, "b", "c"), row(9, 23, 2, "b", "c")), {"unchanged"}),
    "inserted": (_remember(row(10, 15, 9, "d"), row(11, 15, 9, "a", "b")), {"inserted"}),
    "inserted before the first": (_remember(row(12, 5, 9, "d")), {"inserted"}),
    "inserted, like the next": (_remember(row(13, 15, 2, "b", "c", entry="lab/3")), {"inserted"}),
    "stale": (_remember(row(8, 21, 9)), {"stale"}),
    "conflict": (_remember(row(14, 20, 9), row(14, 10, 9)), {"conflict"}),
    "missing": (_remember(row(15, 30, 9, entry="no/1")), {"missing"}),
    "invalid": (_remember({"key": 1}, {"key": 2}), {"invalid"}),
    "partial": (_update(_part(16, 30, v=3), _part("part", 30, v=1)), {"changed", "created"}),
    "partial, other relations": (_update(_part(17, 30, relations={"IN": "e"})), {"changed"}),
    "joined": (_update(_part(18, 30, v=3), _part(18, 30, w=3, relations={"IN": "e"})), {"changed"}),
    "joined later": (_update(_part(18, 30, x=3)), {"changed"}),
    "partial, unchanged": (_update(_part(19, 25, v=2)), {"unchanged"}),
    "partial, late": (
        _update(_part(20, 15, v=1), _part(20, 15.5, v=9), _part(20, 5, v=1)),
        {"unchanged", "stale"},
    ),
    "record_failure": (
        lambda graph: lighthouse.record_failure(graph, "x", "Thing", 1, "why"),
        None,
    ),
    "ensure_schema again": (lambda graph: lighthouse.ensure_schema(graph, [THING]), None),
    "history": (lambda graph: lighthouse.history(graph, THING, 1), None),
    "as_of": (lambda graph: lighthouse.as_of(graph, THING, 1, day(15)), None),
    "related": (lambda graph: lighthouse.related(graph, THING, 1, "IN"), None),
    "related at a time": (lambda graph: lighthouse.related(graph, THING, 1, "IN", day(15)), None),
    "of an unknown": (lambda graph: lighthouse.history(graph, THING, "no"), None),
    "digest": (lambda graph: lighthouse.digest(graph, [THING, ROOM]), None),
}


@pytest.fixture(name="walked", scope="module")
def _walked(things) -> dict[str, tuple[list[str], object]]:
    """Walk each path in turn; give the texts of its queries and what it answered."""
    walked = {}
    for name, (call, _) in PATHS.items():
        recording = Recording(things)
        answer = call(recording)
        walked[name] = (recording.texts, answer)
    return walked


@pytest.mark.parametrize("path", PATHS)
def test_no_query_of_the_library_scans(things, walked, path) -> None:
    """Each finds its entities by the index of their key, and States from their entity or by id."""
    texts, answer = walked[path]

    assert texts
    assert [(found, text) for text in texts if (found := wrong(things, text))] == []
    if expected := PATHS[path][1]:
        assert {receipt["status"] for receipt in answer} == expected


def test_the_hot_paths_ask_twice_at_most(walked) -> None:
    """One read and one write for a batch of created, changed or seen rows; one read for repeats."""
    asked = {name: len(walked[name][0]) for name in ("created", "changed", "seen", "unchanged")}

    assert asked == {"created": 2, "changed": 2, "seen": 2, "unchanged": 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MATCH (n) WHERE n.key = 1 RETURN n.key", "All Node Scan"),
        ("MATCH (n) WHERE id(n) IN [1, 2] RETURN n.key", "All Node Scan"),
        ("MATCH (s:State) RETURN s.v", "State"),
        ("MATCH (s:State) WHERE s.`valid_from:us` > 5 RETURN s.v", "State"),
        ("MATCH (s:State)-[:FROM]->(n) WHERE s.by = 'feed' RETURN n.id", "State"),
        ("MATCH (a:Thing), (b:Room) WHERE a.v = b.v RETURN a.key", "Value Hash Join"),
        ("MATCH (a:Thing), (b:Room) RETURN a.key, b.key", "Cartesian Product"),
    ],
)
def test_a_query_that_scans_is_found(things, text, found) -> None:
    """Each sign is one that the database does show."""
    assert any(found in it for it in wrong(things, text)), str(things.explain(text))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:Thing {key: 1}) RETURN n.v",
        "MATCH (n:Thing {key: 1})-[:HAS_STATE]->(s:State) RETURN s.v",
        "UNWIND [1, 2] AS i MATCH (s) WHERE id(s) = i RETURN s.v",
        "MATCH (m:Stamp) RETURN m.id",
    ],
)
def test_a_query_that_seeks_is_not(things, text) -> None:
    """The twins: by index, from an entity, by id, and over a label of one node."""
    assert wrong(things, text) == []
