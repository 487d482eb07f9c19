"""Whether two graphs tell the same history: one number for all that is true in one."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from lighthouse.kinds import Kind
from lighthouse.queries import ask, require_ready
from lighthouse.read import state_map

#: Node ids of one step.
_STEP = 1_000
_SPACE = 2**256
_LEFT_OUT = frozenset({"fp", "by", "provenance", "recorded_at"})


def digest(graph: Any, kinds: Iterable[Kind]) -> str:
    """Give a digest of the histories of some kinds, 64 hex digits, equal for equal histories.

    Covers kind, key, values, times, `valid_from`, `valid_to`, `seen_last` and the windows of relations;
    not writers, `recorded_at`, evidence or ids. It is the sum of the SHA-256 of each entity's history
    modulo 2^256, so the order in which entities are read plays no part.
    Raises SchemaMissing and Unavailable.
    """
    require_ready(graph)
    total = 0
    for kind in dict.fromkeys(kinds):
        for line in _lines(graph, kind):
            total += int.from_bytes(hashlib.sha256(line.encode()).digest())
    return f"{total % _SPACE:064x}"


def _lines(graph: Any, kind: Kind) -> Iterable[str]:
    """Write the history of each entity of a kind as one line of JSON."""
    found = ask(graph, f"MATCH (e:`{kind.label}`) RETURN max(id(e))")
    for first in range(0, (found[0][0] if found and found[0][0] is not None else -1) + 1, _STEP):
        text = f"MATCH (e:`{kind.label}`) WHERE id(e) >= $first AND id(e) < $end RETURN id(e), e.`{kind.key}`"
        page = ask(graph, text, {"first": first, "end": first + _STEP})
        states = _states(graph, [row[0] for row in page])
        windows: dict[int, dict[str, list]] = {row[0]: {} for row in page}
        for edge_type in kind.relations:
            _read_windows(graph, kind, edge_type, windows)
        for node, key in page:
            if node in states:
                told = [kind.label, key, states[node], windows[node]]
                yield json.dumps(told, sort_keys=True)


def _states(graph: Any, nodes: list[int]) -> dict[int, list]:
    text = (
        "UNWIND $nodes AS i MATCH (e) WHERE id(e) = i WITH e MATCH (e)-[:HAS_STATE]->(s)"
        " RETURN id(e), properties(s) SKIP $skip LIMIT 5000"
    )
    found: dict[int, list] = {}
    for node, properties in _pages(graph, text, nodes):
        told = {name: value for name, value in _told(properties).items() if name not in _LEFT_OUT}
        found.setdefault(node, []).append(told)
    for states in found.values():
        states.sort(key=lambda state: state["valid_from"])
    return found


def _told(properties: dict[str, Any]) -> dict[str, Any]:
    plain = state_map(properties, [])
    exact = {name[:-3]: value for name, value in properties.items() if name.endswith(":us")}
    return plain | exact


def _read_windows(
    graph: Any, kind: Kind, edge_type: str, windows: dict[int, dict[str, list]]
) -> None:
    key = kind.relations[edge_type].key
    text = (
        f"UNWIND $nodes AS i MATCH (e) WHERE id(e) = i WITH e MATCH (e)-[o:`{edge_type}`]->(y)"
        f" RETURN id(e), y.`{key}`, o.`valid_from:us`, o.`valid_to:us` SKIP $skip LIMIT 5000"
    )
    for node, target, start, end in _pages(graph, text, list(windows)):
        spans = windows[node].setdefault(f"{edge_type} {json.dumps(target)}", [])
        spans.append([start, end])
    for own in windows.values():
        for spans in own.values():
            spans.sort(key=lambda span: span[0])


def _pages(graph: Any, text: str, nodes: list[int]) -> Iterable[list]:
    skip = 0
    while rows := ask(graph, text, {"nodes": nodes, "skip": skip}):
        yield from rows
        skip += len(rows)
        if len(rows) < 5000:
            return
