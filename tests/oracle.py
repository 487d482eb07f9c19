"""What does a graph hold after these rows, in this order of delivery? The write rule, plainly.

It is written to be read beside sections 5 to 8 of the contract and shares no code with the library.
A moment is an integer of microseconds since 1970 in UTC. A window holds its beginning, not its end.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

type Key = str | int
#: What a picture says, one item per name: ("values" | "times" | "relations", name) to what is true.
type Facts = dict[tuple[str, str], object]
#: The kinds of a graph: label, then relation type, then the label that the relation points at.
type Declared = Mapping[str, Mapping[str, str]]

#: The moment 0.
EPOCH = datetime.fromisoformat("1970-01-01")
#: Characters that a refusal keeps of what was refused.
DETAIL = 2000


@dataclass(frozen=True, slots=True)
class Row:
    """One valid row: a full picture from `t` on or, when partial, only what changes at `t`.

    `times` are the values that the kind declares as times. In a partial row None takes a value or
    a time away, and a relation type that is named has exactly the targets given.
    """

    kind: str
    key: Key
    t: int
    values: Mapping[str, object] = field(default_factory=dict)
    times: Mapping[str, int | None] = field(default_factory=dict)
    relations: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    entry: str | None = None
    by: str = "feed"
    partial: bool = False


@dataclass(slots=True)
class State:
    """What was true of an entity in one window, and when it was last said again."""

    facts: Facts
    valid_from: int
    valid_to: int | None
    by: str
    entries: list[str]
    seen_last: int | None = None
    names: set[tuple[str, str]] | None = None  # what partial rows named; None: a full row made it

    @property
    def last_sighting(self) -> int:
        """When it was said last, its beginning if never again."""
        return self.valid_from if self.seen_last is None else self.seen_last

    def seen(self, when: int) -> None:
        """Say it again: only a sighting after all others is kept."""
        if when > self.last_sighting:
            self.seen_last = when


@dataclass(slots=True)
class Edge:
    """A relation of one entity in one window."""

    relation: str
    target: Key
    valid_from: int
    valid_to: int | None
    by: str


@dataclass(slots=True)
class Failure:
    """A refusal that is kept: how often it came, and the first and latest row time it had."""

    times: int
    first_t: int
    last_t: int


@dataclass(slots=True)
class Entity:
    """The States of one entity in order of time, and the relations that start at it."""

    states: list[State] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def state_at(self, when: int) -> State | None:
        """The State that holds at a moment."""
        return next((state for state in self.states if holds(state, when)), None)


def holds(window: State | Edge, when: int) -> bool:
    """Tell whether a moment lies in a window."""
    return window.valid_from <= when and (window.valid_to is None or when < window.valid_to)


class Graph:
    """One graph that takes valid rows one at a time, in the order in which they are delivered."""

    def __init__(self, declared: Declared, entries: Iterable[str] = ()) -> None:
        self.declared = declared
        self.entries = set(entries)
        self.entities: dict[tuple[str, Key], Entity] = defaultdict(Entity)
        self.failures: dict[tuple[str, str, Key, str], Failure] = {}

    def history(self, kind: str, key: Key) -> list[dict]:
        """Every State, oldest first, in the shape that `history` of the library has."""
        return [self._shown(kind, state) for state in self.entities[kind, key].states]

    def as_of(self, kind: str, key: Key, when: int) -> dict | None:
        """The State that held at a moment; None before the first and for an unknown entity."""
        state = self.entities[kind, key].state_at(when)
        return None if state is None else self._shown(kind, state)

    def related(self, kind: str, key: Key, relation: str, when: int | None = None) -> list[Key]:
        """The targets at a moment, or now: texts in rising order, then numbers in rising order."""
        targets = [
            edge.target
            for edge in self.entities[kind, key].edges
            if edge.relation == relation
            and (edge.valid_to is None if when is None else holds(edge, when))
        ]
        return sorted(targets, key=lambda target: (isinstance(target, int), target))

    def edges(self, kind: str, key: Key) -> list[tuple]:
        """The relations of an entity as (type, target, from, to, by), in a fixed order."""
        found = [
            (edge.relation, edge.target, edge.valid_from, edge.valid_to, edge.by)
            for edge in self.entities[kind, key].edges
        ]
        return sorted(found, key=lambda edge: (edge[0], str(type(edge[1])), edge[1], edge[2]))

    def deliver(self, row: Row) -> str:
        """Take one row and answer its status."""
        if row.entry is not None and row.entry not in self.entries:
            return self._refused(row, "missing")
        entity = self.entities[row.kind, row.key]
        status = _take_partial(entity, row) if row.partial else _take_full(entity, row)
        return self._refused(row, status) if status in ("stale", "conflict") else status

    def _refused(self, row: Row, reason: str) -> str:
        detail = content_text(facts_of(row), self.declared[row.kind])
        if reason == "missing":
            detail = f"the entry '{row.entry}' does not exist: {detail}"
        same = (reason, row.kind, row.key, detail[:DETAIL])
        kept = self.failures.setdefault(same, Failure(0, row.t, row.t))
        kept.times += 1
        kept.last_t = row.t
        return reason

    def _shown(self, kind: str, state: State) -> dict:
        shown = {name: said for (sort, name), said in state.facts.items() if sort != "relations"}
        shown |= {"valid_from": state.valid_from, "by": state.by}
        shown["fp"] = fingerprint(state.facts, self.declared[kind])
        if state.valid_to is not None:
            shown["valid_to"] = state.valid_to
        if state.seen_last is not None:
            shown["seen_last"] = state.seen_last
        if state.entries:
            shown["entry"] = state.entries[0]
        if len(state.entries) > 1:
            shown["entries"] = list(state.entries)
        return shown


# The decision for a full row (the table of 5.2, in its order).


def _take_full(entity: Entity, row: Row) -> str:
    facts = facts_of(row)
    if not entity.states:
        return _begin(entity, row, facts)
    holding, current = entity.state_at(row.t), entity.states[-1]
    if holding is not None and same(holding.facts, facts):
        holding.seen(row.t)
        return "unchanged"
    if holding is current and row.t > current.last_sighting:
        return _succeed(entity, row, facts)
    if holding is not None and row.t in (holding.valid_from, holding.seen_last):
        return "conflict"
    if holding is not None and row.t < holding.last_sighting:
        return "stale"
    return _insert(entity, row, facts, holding)


def _begin(entity: Entity, row: Row, facts: Facts) -> str:
    entity.states = [_new_state(row, facts, None)]
    _point(entity, row.t, None, targets_of(facts), row.by)
    return "created"


def _succeed(entity: Entity, row: Row, facts: Facts) -> str:
    entity.states[-1].valid_to = row.t
    entity.states.append(_new_state(row, facts, None))
    _point(entity, row.t, None, targets_of(facts), row.by)
    return "changed"


def _insert(entity: Entity, row: Row, facts: Facts, holding: State | None) -> str:
    following = next(state for state in entity.states if state.valid_from > row.t)
    until = following.valid_from
    if holding is not None:
        holding.valid_to = row.t
    if same(following.facts, facts):
        following.valid_from = row.t
        following.seen(until)
        _add_evidence(following, row)
    else:
        place = entity.states.index(following)
        entity.states.insert(place, _new_state(row, facts, until))
    _point(entity, row.t, until, targets_of(facts), row.by)
    return "inserted"


def _new_state(row: Row, facts: Facts, valid_to: int | None) -> State:
    entries = [] if row.entry is None else [row.entry]
    names = set(named_by(row)) if row.partial else None
    return State(facts, row.t, valid_to, row.by, entries, names=names)


def _add_evidence(state: State, row: Row) -> None:
    if row.entry is not None and row.entry not in state.entries:
        state.entries.append(row.entry)


# The decision for a partial row.


def _take_partial(entity: Entity, row: Row) -> str:
    if not entity.states:
        return _begin(entity, row, facts_of(row))
    holding, current = entity.state_at(row.t), entity.states[-1]
    if holding is None:
        return "stale"
    merged = merge(holding.facts, row)
    differing = {name for name in named_by(row) if not same_fact(holding.facts, merged, name)}
    at_its_beginning = row.t == holding.valid_from
    if not differing:
        holding.seen(row.t)
        if at_its_beginning and holding.names is not None:
            holding.names |= named_by(row)
        return "unchanged"
    if at_its_beginning and _may_join(holding, differing):
        return _join(entity, row, holding, merged)
    if holding is current and row.t > current.last_sighting:
        return _succeed(entity, row, merged)
    return "conflict" if row.t in (holding.valid_from, holding.seen_last) else "stale"


def _may_join(state: State, differing: set[tuple[str, str]]) -> bool:
    """Tell whether partial rows alone made the State, and none of them spoke of these names."""
    return state.names is not None and state.seen_last is None and not differing & state.names


def _join(entity: Entity, row: Row, state: State, merged: Facts) -> str:
    state.facts = merged
    state.names |= named_by(row)
    _add_evidence(state, row)
    _point(entity, row.t, state.valid_to, targets_of(merged), row.by)
    return "changed" if state.valid_to is None else "inserted"


# Relations (5.5): from `t` to `until` (None: without end) the entity points at `wanted`, no more.


def _point(
    entity: Entity, t: int, until: int | None, wanted: set[tuple[str, Key]], by: str
) -> None:
    held = [edge for edge in entity.edges if holds(edge, t)]
    for edge in held:
        if (edge.relation, edge.target) not in wanted:
            _cut(entity, edge, t, until)
    for relation, target in wanted - {(edge.relation, edge.target) for edge in held}:
        _open(entity, Edge(relation, target, t, until, by))
    entity.edges = [edge for edge in entity.edges if edge.valid_from != edge.valid_to]


def _cut(entity: Entity, edge: Edge, t: int, until: int | None) -> None:
    """End an edge at `t`; what of it lies past `until` goes on as an edge of its own."""
    goes_on = until is not None and (edge.valid_to is None or edge.valid_to > until)
    if goes_on:
        rest = Edge(edge.relation, edge.target, until, edge.valid_to, edge.by)
        entity.edges.append(rest)
    edge.valid_to = t


def _open(entity: Entity, wanted: Edge) -> None:
    """Add an edge, or let the one that begins where it would end begin earlier."""
    for edge in entity.edges:
        named = (edge.relation, edge.target) == (wanted.relation, wanted.target)
        if named and edge.valid_from == wanted.valid_to:
            edge.valid_from = wanted.valid_from
            return
    entity.edges.append(wanted)


# Content (5.3).


def facts_of(row: Row) -> Facts:
    """What a row says is true, one item per name; what it says is absent is left out."""
    return merge({}, row)


def merge(facts: Facts, row: Row) -> Facts:
    """What is true when everything the row names replaces what was true."""
    said: Facts = {("values", name): value for name, value in row.values.items()}
    said |= {("times", name): moment for name, moment in row.times.items()}
    said |= {("relations", name): _in_order(to) for name, to in row.relations.items()}
    merged = facts | said
    return {name: what for name, what in merged.items() if what is not None and what != ()}


def named_by(row: Row) -> set[tuple[str, str]]:
    """The names of a row, also those that it says are absent."""
    sorts = {"values": row.values, "times": row.times, "relations": row.relations}
    return {(sort, name) for sort, named in sorts.items() for name in named}


def targets_of(facts: Facts) -> set[tuple[str, Key]]:
    """Every (relation type, target) of a picture."""
    return {
        (name, to) for (sort, name), all_ in facts.items() if sort == "relations" for to in all_
    }


def same(facts: Facts, others: Facts) -> bool:
    """Tell whether two pictures are one: 1, 1.0 and true differ, as do lists in another order."""
    return all(same_fact(facts, others, name) for name in facts.keys() | others.keys())


def same_fact(facts: Facts, others: Facts, name: tuple[str, str]) -> bool:
    """Tell whether two pictures say the same about one name."""
    return json.dumps(facts.get(name)) == json.dumps(others.get(name))


def _in_order(targets: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(sorted(set(targets), key=lambda key: (isinstance(key, str), key)))


def content_text(facts: Facts, relations: Mapping[str, str]) -> str:
    """The text under a fingerprint: values, times and every declared relation, as JSON."""
    values = {name: said for (sort, name), said in facts.items() if sort == "values"}
    times = {name: readable(said) for (sort, name), said in facts.items() if sort == "times"}
    targets = {relation: facts.get(("relations", relation), ()) for relation in relations}
    return json.dumps([values, times, targets], sort_keys=True)


def fingerprint(facts: Facts, relations: Mapping[str, str]) -> str:
    """The SHA-256 of the content text, in lower-case hex."""
    return hashlib.sha256(content_text(facts, relations).encode()).hexdigest()


def readable(moment: int) -> str:
    """A moment as `stamp` writes it: UTC, with a fraction only when there is one."""
    return (EPOCH + timedelta(microseconds=moment)).isoformat()


# The answer that does not depend on the order of arrival.


def settled(rows: Iterable[Row]) -> list[tuple[Facts, int, int | None, int | None]]:
    """The history of one entity from its full rows alone, none of which is stale or in conflict.

    Rows in order of time; neighbours that say the same are one State. Each State is (facts,
    valid_from, valid_to, seen_last).
    """
    runs: list[list] = []
    for row in sorted(rows, key=lambda row: row.t):
        if runs and same(runs[-1][0], facts_of(row)):
            runs[-1][2] = row.t
        else:
            runs.append([facts_of(row), row.t, row.t])
    ends = [run[1] for run in runs[1:]] + [None]
    return [
        (facts, begun, end, last if last > begun else None)
        for (facts, begun, last), end in zip(runs, ends, strict=True)
    ]


def settled_edges(rows: Iterable[Row]) -> list[tuple[str, Key, int, int | None]]:
    """The windows of the relations of that history: one for each unbroken run of a target."""
    windows: dict[tuple[str, Key], list[list]] = {}
    for facts, begun, end, _ in settled(rows):
        for target in targets_of(facts):
            runs = windows.setdefault(target, [])
            if runs and runs[-1][1] == begun:
                runs[-1][1] = end
            else:
                runs.append([begun, end])
    return [(*target, *run) for target, runs in windows.items() for run in runs]
