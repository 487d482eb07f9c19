"""The hot path: entities with one full row each, on or after the beginning of their current State."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lighthouse import clock
from lighthouse.errors import SchemaMissing
from lighthouse.kinds import Kind
from lighthouse.queries import NEVER, READY, ask, tell
from lighthouse.values import Key
from lighthouse.write.columns import Columns
from lighthouse.write.pictures import Picture
from lighthouse.write.rows import Row, Targets
from lighthouse.write.timeline import Timeline, Version, on_current
from lighthouse.write.vectors import await_vector, seek_vector, take_vector

#: What the engine says of a writer, of the moment, and of a window's beginning.
_WRITTEN = "recorded_at: now, `recorded_at:us`: $us, by: $by, provenance: $provenance"
_BEGUN = "valid_from: localdatetime(r[2]), `valid_from:us`: r[3]"
# The first cells of a row: key, place, time, microseconds, fp; the current State, its fp, its seen_last.
_FIRST = 8


@dataclass(slots=True)
class Forward:
    """Rows by what becomes of them, each with the current State it was judged against."""

    created: list[tuple[Row, None, None, None]]
    changed: list[tuple[Row, int, str, int | None]]
    seen: list[tuple[Row, int, str, int | None]]
    settled: list[tuple[Row, str]]
    others: dict[Key, Picture]


def judge(graph: Any, kind: Kind, rows: list[Row]) -> Forward:
    """Read the current States and judge the rows, one for each entity.

    `settled`: those with nothing to write; `others`: the entities that need more of the history.
    Raises SchemaMissing, and RuntimeError when two nodes have one key.
    """
    edges = "".join(f", s.`to:{edge}`" for edge in kind.relations)
    text = (
        f"{READY} UNWIND $rows AS r OPTIONAL MATCH (e:`{kind.label}` {{`{kind.key}`: r[0]}}) WITH r, e"
        " OPTIONAL MATCH (s) WHERE id(s) = e.`state:id`"
        " RETURN CASE WHEN s.fp = r[1] AND r[2] >= s.`valid_from:us` AND"
        " (r[2] = s.`valid_from:us` OR r[2] <= s.`seen_last:us`) THEN 0"
        " ELSE [id(e), id(s), e.`state:rev`, s.fp, s.`valid_from:us`, s.`seen_last:us`"
        f"{edges}] END"
    )
    found = ask(graph, text, {"rows": [[row.key, row.content.fp, row.t] for row in rows]})
    if not found:
        raise SchemaMissing
    if len(found) != len(rows):
        raise RuntimeError(
            f"two nodes of {kind.label} have one key: run ensure_schema, which names them"
        )
    forward = Forward([], [], [], [], {})
    for row, (known,) in zip(rows, found, strict=True):
        if known == 0:
            forward.settled.append((row, "unchanged"))
        else:
            _sort(forward, kind, row, *known)
    return forward


def _sort(
    forward: Forward, kind: Kind, row: Row, entity: int | None, state: int | None, rev: int | None,
    fp: str, start: int, seen: int | None, *targets: list[Key] | None,
) -> None:  # fmt: skip
    if entity is None:
        forward.created.append((row, None, None, None))
    elif state is None or row.t < start:
        versions = []
        if state is not None:
            versions = [Version(state, fp, start, None, seen, _targets(kind, targets))]
        picture = Picture(state, rev or 0, Timeline(kind, row.key, versions), [])
        forward.others[row.key] = picture
    else:
        status = on_current(row.t, start, seen, fp == row.content.fp)
        if status == "changed":
            row.before = _targets(kind, targets)
            forward.changed.append((row, state, fp, seen))
        elif status == "unchanged" and row.t > (start if seen is None else seen):
            forward.seen.append((row, state, fp, seen))
        else:
            forward.settled.append((row, status))


def _targets(kind: Kind, targets: Iterable[list[Key] | None]) -> Targets:
    return {edge: tuple(keys or ()) for edge, keys in zip(kind.relations, targets, strict=True)}


class Writes:
    """The three queries of the hot path; each gives the places of the rows that it wrote."""

    def __init__(
        self, graph: Any, kind: Kind, by: str, provenance: str | None, recorded: int
    ) -> None:
        self._graph = graph
        self._kind = kind
        self._entity = f"`{kind.label}` {{`{kind.key}`: r[0]}}"
        self._params = {
            "by": by,
            "provenance": provenance,
            "now": clock.seconds(recorded),
            "us": recorded,
        }

    def create(self, rows: list[tuple[Row, None, None, None]]) -> list[int]:
        """Make entities that were not there, with their first State."""
        columns, opened = self._columns(rows), self._opened()
        own = f"`{self._kind.key}`: r[0], `state:id`: id(s)"
        return self._send(
            rows,
            columns,
            f"OPTIONAL MATCH (e:{self._entity}) WITH now, r, e WHERE e IS NULL"
            f" CREATE (s:State {{fp: r[4], {_BEGUN}, {_WRITTEN}{columns.state()}}})"
            f" CREATE (x:`{self._kind.label}`:Entity {{{own}{columns.entity()}}})-[:HAS_STATE]->(s)"
            f" WITH now, r, x AS e{await_vector(self._kind, columns)} {opened}",
        )

    def change(self, rows: list[tuple[Row, int, str, int | None]]) -> list[int]:
        """End the current States and begin new ones."""
        columns, opened = self._columns(rows), self._opened()
        own = f"`{self._kind.key}`: r[0], `state:id`: id(s)"
        gone, closed, carried = self._closed(rows)
        return self._send(
            rows,
            columns,
            f"{self._current('c')}{gone}{seek_vector(self._kind, columns, carried)}"
            f" CREATE (e)-[:HAS_STATE]->(s:State {{fp: r[4], {_BEGUN}, {_WRITTEN}{columns.state()}}})"
            "<-[:NEXT]-(c)"
            " SET c.valid_to = s.valid_from, c.`valid_to:us` = r[3],"
            f" e = {{{own}{columns.entity()}}}{take_vector(self._kind, columns)} {closed} {opened}",
        )

    def see(self, rows: list[tuple[Row, int, str, int | None]]) -> list[int]:
        """Note the last sighting of the current States."""
        return self._send(
            rows,
            None,
            f"{self._current('s')} SET s.seen_last = localdatetime(r[2]), s.`seen_last:us` = r[3]",
        )

    def _current(self, name: str) -> str:
        return (
            f"MATCH (e:{self._entity}) WHERE e.`state:id` = r[5] WITH now, r, e"
            f" MATCH ({name}) WHERE id({name}) = r[5] WITH now, r, e, {name}"
            f" WHERE {name}.fp = r[6] AND coalesce({name}.`seen_last:us`, {NEVER}) = r[7]"
        )

    def _columns(self, rows: list[tuple]) -> Columns:
        first = _FIRST + 2 * len(self._kind.relations)
        return Columns(self._kind, [row.content for row, *_ in rows], first)

    def _opened(self) -> str:
        """Make an edge to each new target, and the targets that do not exist."""
        return " ".join(
            f"FOREACH (k IN r[{_FIRST + 2 * place}] | MERGE (y:`{target.label}` {{`{target.key}`: k}})"
            f" ON CREATE SET y:Entity CREATE (e)-[:`{edge}` {{{_BEGUN}, {_WRITTEN}}}]->(y))"
            for place, (edge, target) in enumerate(self._kind.relations.items())
        )

    def _closed(self, rows: list[tuple]) -> tuple[str, str, str]:
        """Find the open edges to targets no longer named, type by type; end them; names in scope."""
        find, end = "", ""
        carried = "now, r, e, c"
        for place, (edge, target) in enumerate(self._kind.relations.items()):
            if not any(_missing(row, edge) for row, *_ in rows):
                continue
            cell = f"r[{_FIRST + 2 * place + 1}]"
            find += (
                f" UNWIND CASE WHEN size({cell}) = 0 THEN [null] ELSE {cell} END AS k"
                f" OPTIONAL MATCH (y:`{target.label}` {{`{target.key}`: k}}) WITH {carried}, y"
                f" OPTIONAL MATCH (e)-[o:`{edge}`]->(y) WHERE o.`valid_to:us` IS NULL"
                f" WITH {carried}, collect(o) AS gone{place}"
            )
            carried += f", gone{place}"
            end += f" FOREACH (o IN gone{place} | SET o.valid_to = s.valid_from, o.`valid_to:us` = r[3])"
        return find, end, carried

    def _send(self, rows: list[tuple], columns: Columns | None, text: str) -> list[int]:
        if not rows:
            return []
        cells = [self._cells(row, known, columns) for row, *known in rows]
        text = f"WITH localdatetime($now) AS now UNWIND $rows AS r {text} RETURN collect(r[1])"
        return tell(self._graph, text, self._params | {"rows": cells})[0][0]

    def _cells(self, row: Row, known: Sequence[Any], columns: Columns | None) -> list:
        content = row.content
        state, fp, seen = known
        cells: list[Any] = [row.key, row.place, clock.seconds(row.t), row.t, content.fp]
        cells += (state, fp, NEVER if seen is None else seen)
        if columns is None:
            return cells
        for edge, targets in content.targets.items():
            before = row.before.get(edge, ())
            if before == targets:
                cells += ((), ())
            else:
                cells += (
                    [k for k in targets if k not in before],
                    [k for k in before if k not in targets],
                )
        return cells + columns.row(content)


def _missing(row: Row, edge: str) -> bool:
    return any(key not in row.content.targets[edge] for key in row.before.get(edge, ()))
