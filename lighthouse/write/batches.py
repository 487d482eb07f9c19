"""One database write of rows: read what they touch, decide, write guarded; again where others moved."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ResponseError

from lighthouse.errors import Unavailable
from lighthouse.kinds import Kind
from lighthouse.queries import speaks_of_content, tell
from lighthouse.values import Key
from lighthouse.write.columns import MOST_NAMES
from lighthouse.write.edges import late_from, turn_edges
from lighthouse.write.forward import Writes, judge
from lighthouse.write.pictures import Picture, read_edges, read_pictures
from lighthouse.write.rows import Row
from lighthouse.write.splice import Change, Writer, splice

Receipt = dict[str, Any]
Entities = dict[Key, list[Row]]

#: Times an entity that other writers move is read again: a partial row is then `busy`.
PARTIAL_TRIES = 5
#: The same for full rows, which go on far longer: each try that fails is another writer's success.
FULL_TRIES = 1_000
#: Trials that settle whether an unknown error speaks of the row or of the server.
_TRIALS = 3


@dataclass(slots=True)
class Refused:
    """A refusal to be kept: the row's place in the call, the status, the detail and the row's time."""

    place: int
    reason: str
    detail: str
    t: int | None


class Batch:
    """The rows of one database write; `settled` holds (place, status, reason), `refused` what to keep."""

    def __init__(self, graph: Any, kind: Kind, writer: Writer, partial: bool) -> None:
        self._graph = graph
        self._kind = kind
        self._writer = writer
        self._hot = Writes(graph, kind, writer.by, writer.provenance, writer.recorded)
        self._tries = PARTIAL_TRIES if partial else FULL_TRIES
        self.settled: list[tuple[int, str, str | None]] = []
        self.refused: list[Refused] = []

    def take(self, rows: list[Row]) -> None:
        """Settle rows; what the database refuses is halved until the guilty row stands alone."""
        waiting = _by_entity(rows)
        try:
            for _ in range(self._tries):
                waiting = self._try(waiting)
                if not waiting:
                    return
        except ResponseError as error:
            self._part([row for own in waiting.values() for row in own], error)
            return
        self._give_up([row for own in waiting.values() for row in own])

    def _try(self, waiting: Entities) -> Entities:
        """Read, decide and write once; give the rows of the entities that others moved meanwhile."""
        waiting, known, moved = self._go_forward(waiting)
        if not waiting:
            return moved
        pictures = read_pictures(self._graph, self._kind, waiting, known)
        decided = {
            key: [(row, *pictures[key].timeline.take(row)) for row in rows]
            for key, rows in waiting.items()
        }
        changes = self._changes(pictures)
        self._settle(decided, [key for key in waiting if key not in changes])
        left = [key for part in _by_names(changes) for key in self._splice(part, decided)]
        return moved | {key: waiting[key] for key in left}

    def _splice(self, changes: dict[Key, Change], decided: dict[Key, list[tuple]]) -> list[Key]:
        """Write changes together, else one by one; give the entities that others moved meanwhile."""
        if splice(self._graph, self._kind, self._writer, changes):
            self._settle(decided, changes)
            return []
        if len(changes) == 1:
            return list(changes)
        return [
            key for one, change in changes.items() for key in self._splice({one: change}, decided)
        ]

    def _go_forward(self, waiting: Entities) -> tuple[Entities, dict[Key, Picture], Entities]:
        """Settle the entities with one full row on the hot path.

        Gives the others, what was read of them, and those that other writers moved.
        """
        singles = [
            own[0]
            for own in waiting.values()
            if len(own) == 1 and not own[0].partial and not own[0].entry
        ]
        if not singles:
            return waiting, {}, {}
        forward = judge(self._graph, self._kind, singles)
        self.settled += [
            (row.place, status, None) for row, status in forward.settled if status == "unchanged"
        ]
        for row, status in forward.settled:
            if status != "unchanged":
                self._answer(row, status, None)
        moved: Entities = {}
        for write, rows, status in (
            (self._hot.create, forward.created, "created"),
            (self._hot.change, forward.changed, "changed"),
            (self._hot.see, forward.seen, "unchanged"),
        ):
            for part in _parts(rows):
                moved |= self._note(part, set(write(part)), status)
        done = {row.key for row in singles} - forward.others.keys()
        left = {key: own for key, own in waiting.items() if key not in done}
        return left, forward.others, moved

    def _note(self, rows: list[tuple], written: set[int], status: str) -> Entities:
        self.settled += [(row.place, status, None) for row, *_ in rows if row.place in written]
        return {row.key: [row] for row, *_ in rows if row.place not in written}

    def _write_alone(
        self, key: Key, changes: dict[Key, Change], decided: dict[Key, list[tuple]]
    ) -> bool:
        alone = {key: changes[key]}
        if len(changes) == 1 or not splice(self._graph, self._kind, self._writer, alone):
            return False
        self._settle(decided, alone)
        return True

    def _changes(self, pictures: dict[Key, Picture]) -> dict[Key, Change]:
        touched = {key: picture for key, picture in pictures.items() if _touched(picture)}
        since = {
            key: t
            for key, picture in touched.items()
            if (t := late_from(picture.timeline)) is not None
        }
        stored = read_edges(self._graph, self._kind, since) if since else {}
        return {
            key: Change(picture, turn_edges(picture.timeline, stored.get(key, {})))
            for key, picture in touched.items()
        }

    def _settle(self, decided: dict[Key, list[tuple]], keys: Iterable[Key]) -> None:
        for key in keys:
            for result in decided[key]:
                self._answer(*result)

    def _answer(self, row: Row, status: str, reason: str | None) -> None:
        self.settled.append((row.place, status, reason))
        if status in ("stale", "conflict", "invalid", "busy", "failed"):
            detail = row.content.text if status in ("stale", "conflict") else reason or ""
            self.refused.append(Refused(row.place, status, detail, row.t))

    def _part(self, rows: list[Row], error: ResponseError) -> None:
        done = {place for place, *_ in self.settled}
        rows = sorted((row for row in rows if row.place not in done), key=lambda row: row.place)
        if len(rows) > 1:
            middle = len(rows) // 2
            self.take(rows[:middle])
            self.take(rows[middle:])
        elif rows:
            self._judge(rows[0], error)

    def _judge(self, row: Row, error: ResponseError) -> None:
        """Find a row that was refused alone `failed`, or taken after all.

        Where the error's words do not tell, it is the row when it is refused time and again while
        the graph takes another write.
        """
        for _ in range(0 if speaks_of_content(error) else _TRIALS):
            _probe(self._graph)
            try:
                if not self._try(_by_entity([row])):
                    return
            except ResponseError as again:
                error = again
        self._answer(row, "failed", f"{error} (key {row.key!r})")

    def _give_up(self, rows: list[Row]) -> None:
        if self._tries == FULL_TRIES:
            raise Unavailable("other writers move the same entities without end")
        for row in rows:
            self._answer(
                row, "busy", "other writers moved the entity each time it was tried: send it again"
            )


def _parts(rows: list[tuple]) -> list[list[tuple]]:
    """Part rows so that those whose relations move go apart: finding their edges costs the others."""
    staying: list[tuple] = []
    moving: list[tuple] = []
    for one in rows:
        row = one[0]
        moves = row.before and row.before != row.content.targets
        (moving if moves else staying).append(one)
    return [part for part in (staying, moving) if part]


def _by_entity(rows: list[Row]) -> Entities:
    entities: Entities = {}
    for row in rows:
        entities.setdefault(row.key, []).append(row)
    return entities


def _probe(graph: Any) -> None:
    try:
        tell(graph, "MATCH (m:Stamp) SET m.id = m.id RETURN 1")
    except ResponseError as error:
        raise Unavailable(f"the database cannot take queries now: {error}") from error


def _by_names(changes: dict[Key, Change]) -> Iterable[dict[Key, Change]]:
    """Part changes by the names of the values that they write."""
    part: dict[Key, Change] = {}
    names: set[str] = set()
    for key, change in changes.items():
        contents = [
            version.content for version in change.picture.timeline.versions if version.content
        ]
        own = {name for content in contents for name in content.values}
        if part and len(names | own) > MOST_NAMES:
            yield part
            part, names = {}, set()
        part[key] = change
        names |= own
    if part:
        yield part


def _touched(picture: Picture) -> bool:
    return any(
        version.id is None or version.moved or version.joined or version.evidence
        for version in picture.timeline.versions
    )
