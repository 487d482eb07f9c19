"""What turns of an entity's relations do to its relation edges: closed, opened, cut and extended."""

from dataclasses import dataclass

from lighthouse.values import Key
from lighthouse.write.timeline import Timeline, Turn


@dataclass(slots=True)
class Origin:
    """Who wrote an edge, and when (microseconds)."""

    by: str
    recorded: int
    provenance: str | None


@dataclass(slots=True)
class Edge:
    """One relation edge and its window in microseconds.

    `stored`: it is in the graph. `was`: its beginning there, None when it is only known to be open.
    `origin`: None for an edge of the present call. `gone`: it is to be taken out.
    """

    target: Key
    start: int | None
    end: int | None
    stored: bool = False
    was: int | None = None
    origin: Origin | None = None
    changed: bool = False
    gone: bool = False


Edges = dict[str, dict[Key, list[Edge]]]


def late_from(timeline: Timeline) -> int | None:
    """Give the first time from which stored edges must be read, None when none must.

    A late row whose relations are those of both its neighbours moves no edge.
    """
    deep = [
        turn.t for turn in timeline.turns if (turn.u is not None or turn.joins) and not _calm(turn)
    ]
    return min(deep, default=None)


def turn_edges(timeline: Timeline, edges: Edges) -> Edges:
    """Work the turns out on the edges read (none where `late_from` is None); give them as they become."""
    read = late_from(timeline) is not None
    for turn in timeline.turns:
        if turn.u is None:
            _go_on(turn, edges)
        elif read and not _calm(turn):
            _go_between(turn, edges)
    return edges


def _calm(turn: Turn) -> bool:
    return turn.before == turn.targets and (turn.u is None or turn.targets == turn.after)


def _go_on(turn: Turn, edges: Edges) -> None:
    for edge_type, targets in turn.targets.items():
        before = turn.before.get(edge_type, ())
        if before == targets:
            continue
        known = edges.setdefault(edge_type, {})
        for key in before:
            if key not in targets:
                _end(_open(known.setdefault(key, []), key), turn.t)
        for key in targets:
            if key not in before:
                known.setdefault(key, []).append(Edge(key, turn.t, None))


def _go_between(turn: Turn, edges: Edges) -> None:
    for edge_type, targets in turn.targets.items():
        before = turn.before.get(edge_type, ())
        known = edges.setdefault(edge_type, {})
        for key in before:
            if key not in targets:
                _cut(known.setdefault(key, []), turn)
        for key in targets:
            if key not in before:
                _extend(known.setdefault(key, []), key, turn)


def _cut(known: list[Edge], turn: Turn) -> None:
    for edge in known:
        if (
            not edge.gone
            and edge.start is not None
            and edge.start <= turn.t
            and (edge.end is None or edge.end > turn.t)
        ):
            if turn.u is not None and (edge.end is None or edge.end > turn.u):
                known.append(Edge(edge.target, turn.u, edge.end, origin=edge.origin))
            _end(edge, turn.t)
            return


def _end(edge: Edge, t: int) -> None:
    """End an edge; one that would have held at no moment is gone."""
    edge.end, edge.changed, edge.gone = t, True, edge.start == t


def _extend(known: list[Edge], key: Key, turn: Turn) -> None:
    for edge in known:
        if edge.start == turn.u and not edge.gone:
            edge.start, edge.changed = turn.t, True
            return
    known.append(Edge(key, turn.t, turn.u))


def _open(known: list[Edge], key: Key) -> Edge:
    for edge in known:
        if edge.end is None and not edge.gone:
            return edge
    edge = Edge(key, None, None, stored=True)
    known.append(edge)
    return edge
