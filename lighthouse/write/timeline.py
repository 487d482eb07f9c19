"""What a row does to an entity's history: the write rule, on the part of the history that it touches."""

from bisect import bisect_right
from dataclasses import dataclass, field

from lighthouse import clock
from lighthouse.kinds import Kind
from lighthouse.values import Key
from lighthouse.write.rows import UNKNOWN, Content, Row, Targets, merge


@dataclass(slots=True)
class Version:
    """One State: what it says (`content` only where a partial row needs it) and from when to when.

    `id` is the node's, None for one that is to be made; times are microseconds.
    """

    id: int | None
    fp: str
    start: int
    end: int | None
    seen: int | None
    targets: Targets
    content: Content = UNKNOWN
    names: set[str] | None = None
    row: Row | None = None
    evidence: list[str] = field(default_factory=list)
    moved: bool = False
    joined: bool = False

    def see(self, t: int) -> None:
        """Note that a row at `t` said the same."""
        if t > self.start and (self.seen is None or t > self.seen):
            self.seen, self.moved = t, True


@dataclass(slots=True)
class Turn:
    """A change of an entity's relations: at `t`, until `u` (None: from then on), to `targets`.

    `joins`: a State that began at `t` is itself changed, so that edges may begin there too.
    """

    t: int
    u: int | None
    targets: Targets
    before: Targets
    after: Targets | None
    joins: bool = False


class Timeline:
    """The known part of one entity's history, and what the rows of one write make of it."""

    __slots__ = ("cut", "key", "kind", "turns", "versions")

    def __init__(self, kind: Kind, key: Key, versions: list[Version]) -> None:
        self.kind = kind
        self.key = key
        self.versions = versions
        self.turns: list[Turn] = []
        self.cut: list[int] = []

    def take(self, row: Row) -> tuple[str, str | None]:
        """Put one row into the history; give its status and, for some, the reason.

        Statuses: created, changed, inserted, unchanged, conflict, stale; invalid for a partial row
        whose merge cannot be stored.
        """
        if row.partial:
            return self._take_partial(row)
        return self._take_full(row), None

    def _take_full(self, row: Row) -> str:
        content, t = row.content, row.t
        if not self.versions:
            return self._append(row, content, None, "created")
        place = self._holding(t)
        held = self.versions[place] if place >= 0 else None
        if held and held.fp == content.fp:
            held.see(t)
            return "unchanged"
        if held is self.versions[-1]:
            status = on_current(t, held.start, held.seen, False)
            return self._append(row, content, None, status) if status == "changed" else status
        if held and t in (held.start, held.seen):
            return "conflict"
        if held and held.seen is not None and held.seen > t:
            return "stale"
        return self._insert(row, content, place)

    def _take_partial(self, row: Row) -> tuple[str, str | None]:
        place = self._holding(row.t)
        if self.versions and place < 0:
            return "stale", self._before_current()
        held = self.versions[place] if self.versions else None
        try:
            content = merge(self.kind, held.content if held else None, row)
        except ValueError as error:
            return "invalid", str(error)
        if held is None:
            return self._append(row, content, row.names, "created"), None
        return self._lay_over(row, content, place)

    def _lay_over(self, row: Row, content: Content, place: int) -> tuple[str, str | None]:
        held, t, last = self.versions[place], row.t, place == len(self.versions) - 1
        if held.fp == content.fp:
            held.see(t)
            if t == held.start and held.names is not None and not row.names <= held.names:
                held.names, held.joined = held.names | row.names, True
            return "unchanged", None
        if last and t > held.start and (held.seen is None or t > held.seen):
            return self._append(row, content, row.names, "changed"), None
        if t == held.start:
            return self._join(row, content, place), None
        if t == held.seen:
            return "conflict", None
        return "stale", None if last else self._before_current()

    def _join(self, row: Row, content: Content, place: int) -> str:
        held = self.versions[place]
        if (
            held.names is None
            or held.seen is not None
            or _differing(held.content, content) & held.names
        ):
            return "conflict"
        after = self.versions[place + 1] if place + 1 < len(self.versions) else None
        self._turn(held.start, after, content.targets, held.targets, joins=True)
        held.content, held.fp, held.targets = content, content.fp, content.targets
        held.names, held.joined = held.names | row.names, True
        if row.entry:
            held.evidence.append(row.entry)
        return "inserted" if after else "changed"

    def _append(self, row: Row, content: Content, names: set[str] | None, status: str) -> str:
        before: Targets = {}
        if self.versions:
            last = self.versions[-1]
            last.end, last.moved = row.t, True
            before = last.targets
        self._turn(row.t, None, content.targets, before)
        self.versions.append(_version(row, content, row.t, None, names))
        return status

    def _insert(self, row: Row, content: Content, place: int) -> str:
        following = self.versions[place + 1]
        self._turn(
            row.t, following, content.targets, self.versions[place].targets if place >= 0 else {}
        )
        if place >= 0:
            held = self.versions[place]
            held.end, held.moved = row.t, True
        if following.fp == content.fp:
            following.seen = following.start if following.seen is None else following.seen
            following.start, following.moved = row.t, True
            if row.entry:
                following.evidence.append(row.entry)
        else:
            self.versions.insert(place + 1, _version(row, content, row.t, following.start, None))
        return "inserted"

    def _turn(
        self,
        t: int,
        following: Version | None,
        targets: Targets,
        before: Targets,
        joins: bool = False,
    ) -> None:
        if self.kind.relations:
            u, after = (following.start, following.targets) if following else (None, None)
            self.turns.append(Turn(t, u, targets, before, after, joins))

    def _holding(self, t: int) -> int:
        """Give the place of the State that holds at `t`, -1 before the first."""
        return bisect_right(self.versions, t, key=_start) - 1

    def _before_current(self) -> str:
        return f"t lies before the beginning of the current State, {clock.text(self.versions[-1].start)}"


def on_current(t: int, start: int, seen: int | None, same: bool) -> str:
    """Judge a row at `t`, on or after the beginning of the current State and its last sighting."""
    if same:
        return "unchanged"
    if t > start and (seen is None or t > seen):
        return "changed"
    return "conflict" if t in (start, seen) else "stale"


def _version(
    row: Row, content: Content, start: int, end: int | None, names: set[str] | None
) -> Version:
    evidence = [row.entry] if row.entry else []
    return Version(
        None, content.fp, start, end, None, content.targets, content, names, row, evidence
    )


def _differing(known: Content, said: Content) -> set[str]:
    names = known.values.keys() | said.values.keys() | known.times.keys() | said.times.keys()
    differing = {name for name in names if not _same(known, said, name)}
    return differing | {
        f"to:{edge}" for edge in known.targets if known.targets[edge] != said.targets[edge]
    }


def _same(known: Content, said: Content, name: str) -> bool:
    before = (known.values.get(name), known.times.get(name))
    after = (said.values.get(name), said.times.get(name))
    return before == after and repr(before) == repr(after)


def _start(version: Version) -> int:
    return version.start
