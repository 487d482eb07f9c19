"""Which rules of the data model does a graph break? Read with plain Cypher, not by the library."""

from itertools import pairwise

from tests import delivering
from tests.delivering import KINDS, micros
from tests.oracle import Key
from tests.strategies import PLACE, THING

_STATES = """
MATCH (e:{kind})-[:HAS_STATE]->(s:State) WHERE e.{key} IN $keys
RETURN e.{key} AS key, id(s) AS id, properties(s) AS said
"""
_NEXT = """
MATCH (e:{kind})-[:HAS_STATE]->(s:State) WHERE e.{key} IN $keys
WITH s MATCH (s)-[n:NEXT]->(o) RETURN id(s) AS one, id(o) AS other, count(n) AS links
UNION
MATCH (e:{kind})-[:HAS_STATE]->(s:State) WHERE e.{key} IN $keys
WITH s MATCH (p)-[n:NEXT]->(s) RETURN id(p) AS one, id(s) AS other, count(n) AS links
"""
_STRAYS = """
MATCH (s:State) OPTIONAL MATCH (e:Entity)-[h:HAS_STATE]->(s) WITH s, count(h) AS owners
WHERE owners <> 1 RETURN owners, properties(s)
"""
_EDGES = """
MATCH (e:{kind})-[r]->(o) WHERE e.{key} IN $keys AND type(r) IN $relations
RETURN type(r), e.{key}, properties(r), labels(o)
"""
_ENTITIES = """
MATCH (e:{kind}) WHERE e.{key} IN $keys
OPTIONAL MATCH (e)-[:HAS_STATE]->(s:State) WHERE s.valid_to IS NULL
RETURN e.{key}, labels(e), properties(e), count(s), properties(collect(s)[0])
"""


def broken(graph: object, keys: list[Key]) -> list[str]:
    """Name every rule that the entities of these keys break."""
    found = []
    for kind in (THING, PLACE):
        found += _broken_states(graph, kind, keys)
        found += _broken_edges(graph, kind, keys)
        found += _broken_entities(graph, kind, keys)
        found += [wrong for key in keys for wrong in _edges_unlike_states(graph, kind, key)]
    return found


def strays(graph: object) -> list[list]:
    """List the States of a graph that do not belong to exactly one entity."""
    return graph.ro_query(_STRAYS).result_set


def _broken_states(graph: object, kind: str, keys: list[Key]) -> list[str]:
    rows = _ask(graph, _STATES, kind, keys)
    by_entity: dict[str, list[tuple[int, dict]]] = {}
    for key, number, said in rows:
        by_entity.setdefault(repr(key), []).append((number, said))
    found = []
    chain = set()
    for name, states in by_entity.items():
        states.sort(key=lambda state: state[1]["valid_from:us"])
        found += [f"{kind} {name}: {wrong}" for wrong in _broken_windows([it[1] for it in states])]
        numbers = [number for number, _ in states]
        chain |= {(one, other, 1) for one, other in pairwise(numbers)}
    linked = {tuple(row) for row in _ask(graph, _NEXT, kind, keys)}
    if linked != chain:
        found.append(f"{kind}: NEXT is {sorted(linked)}, not {sorted(chain)}")
    return found


def _broken_windows(states: list[dict]) -> list[str]:
    found = []
    if [state.get("valid_to:us") for state in states].count(None) != 1:
        found.append("not one open State")
    for state, after in pairwise(states):
        if state.get("valid_to:us") != after["valid_from:us"]:
            found.append("windows that do not touch")
    for state in states:
        begun, ended = state["valid_from:us"], state.get("valid_to:us")
        last = state.get("seen_last:us", begun)
        if ended is not None and not begun <= last < ended:
            found.append(f"a sighting outside of its window, or an empty one: {state}")
        if "seen_last:us" in state and last <= begun:
            found.append(f"a sighting that is the beginning: {state}")
        found += _unlike(state, ("valid_from", "valid_to", "seen_last", "recorded_at", "checked"))
    return found


def _broken_edges(graph: object, kind: str, keys: list[Key]) -> list[str]:
    declared = KINDS[kind].relations
    query = _EDGES.replace("$relations", str(list(declared)))
    found = []
    for relation, key, said, labels in _ask(graph, query, kind, keys):
        begun, ended = said["valid_from:us"], said.get("valid_to:us")
        wrong = _unlike(said, ("valid_from", "valid_to", "recorded_at"))
        if ended is not None and ended <= begun:
            wrong.append(f"an empty window {said}")
        if set(labels) < {declared[relation].label, "Entity"}:
            wrong.append(f"a target with the labels {labels}")
        found += [f"{kind} {key!r} {relation}: {it}" for it in wrong]
    return found


def _edges_unlike_states(graph: object, kind: str, key: Key) -> list[str]:
    """Name the States in whose windows the edges are not what the library says it points at."""
    edges = delivering.edges(graph, kind, key)
    turns = {begun for _, _, begun, _, _ in edges} | {ended for _, _, _, ended, _ in edges}
    found = []
    for state in delivering.history(graph, kind, key):
        begun, ended = state["valid_from"], state.get("valid_to")
        if any(turn and begun < turn and (ended is None or turn < ended) for turn in turns):
            found.append(f"{kind} {key!r}: an edge turns inside of the State from {begun}")
        for relation in KINDS[kind].relations:
            told = delivering.related(graph, kind, key, relation, begun)
            held = [
                target
                for named, target, since, until, _ in edges
                if named == relation and since <= begun and (until is None or begun < until)
            ]
            if sorted(told, key=repr) != sorted(held, key=repr):
                found.append(
                    f"{kind} {key!r} {relation} at {begun}: {told} by States, {held} by edges"
                )
    return found


def _broken_entities(graph: object, kind: str, keys: list[Key]) -> list[str]:
    named = KINDS[kind].key
    marks = {
        "fp",
        "valid_from",
        "valid_to",
        "seen_last",
        "recorded_at",
        "by",
        "provenance",
        "words",
    }
    found = []
    for key, labels, said, current, state in _ask(graph, _ENTITIES, kind, keys):
        wrong = []
        if "Entity" not in labels:
            wrong.append(f"labels {labels}")
        if current > 1:
            wrong.append(f"{current} open States")
        kept = {name: it for name, it in said.items() if name != named and _is_value(name)}
        told = {name: it for name, it in (state or {}).items() if name not in marks}
        told = {name: it for name, it in told.items() if _is_value(name)}
        if repr(sorted(kept.items())) != repr(sorted(told.items())):
            wrong.append(f"the entity says {kept}, its State {told}")
        found += [f"{kind} {key!r}: {it}" for it in wrong]
    return found


def _unlike(said: dict, names: tuple[str, ...]) -> list[str]:
    """Name the readable times that are not, to the second, the integers beside them."""
    found = []
    for name in names:
        beside, readable = said.get(f"{name}:us"), said.get(name)
        if (beside is None) != (readable is None):
            found.append(f"{name} without its twin: {said}")
        elif beside is not None and micros(readable) != _to_the_second(beside):
            found.append(f"{name} is {readable}, beside it {beside}")
    return found


def _to_the_second(moment: int) -> int:
    # The engine (4.22.1) cannot read 1969-12-31T23:59:59: the second before it stands in its place.
    whole = moment - moment % 1_000_000
    return -2_000_000 if whole == -1_000_000 else whole


def _is_value(name: str) -> bool:
    return ":" not in name or name == "checked:us"


def _ask(graph: object, query: str, kind: str, keys: list[Key]) -> list[list]:
    asked = query.replace("{kind}", kind).replace("{key}", KINDS[kind].key)
    return graph.ro_query(asked, {"keys": keys}).result_set
