"""Writing any change of entities' histories in one guarded query: chains, late rows, moved bounds."""

import uuid
from dataclasses import dataclass
from typing import Any

from lighthouse.kinds import Kind
from lighthouse.queries import NEVER, tell
from lighthouse.values import Key
from lighthouse.write.columns import Columns, instant
from lighthouse.write.edges import Edges, Origin
from lighthouse.write.pictures import Picture
from lighthouse.write.timeline import Timeline, Version
from lighthouse.write.vectors import seek_vector, take_vector

# The first cell of a fresh State's own columns.
_FIRST = 12


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, with what provenance, and when it is recorded (microseconds)."""

    by: str
    provenance: str | None
    recorded: int


@dataclass(slots=True)
class Change:
    """One entity with something to write."""

    picture: Picture
    edges: Edges


def splice(graph: Any, kind: Kind, writer: Writer, changes: dict[Key, Change]) -> bool:
    """Write the changes, all or none; say whether they were written.

    None is when an entity is no longer as it was read.
    """
    query = _Query(kind, writer)
    query.guard(changes)
    query.bear(changes)
    query.settle_edges(changes)
    query.settle_states(changes)
    query.join(changes)
    query.drop_edges(changes)
    query.cut(changes)
    query.renew_stamp()
    query.make_states(changes)
    query.prove_stored(changes)
    query.open_edges(changes, writer)
    return bool(tell(graph, query.text, query.params))


class _Query:
    """The text of one query and its parameters, part by part: what is read, then what is written."""

    def __init__(self, kind: Kind, writer: Writer) -> None:
        self._kind = kind
        self._entity = f"`{kind.label}` {{`{kind.key}`: r[0]}}"
        text, us = instant(writer.recorded)
        self.params: dict[str, Any] = {"by": writer.by, "provenance": writer.provenance}
        self.params |= {"now": text, "us": us, "stamp": str(uuid.uuid4())}
        self._parts: list[str] = []
        self._deletes = False

    @property
    def text(self) -> str:
        return " ".join([*self._parts, "RETURN 1"])

    def _add(self, name: str, rows: list, text: str) -> None:
        if rows:
            self.params[name] = rows
            self._call(f"UNWIND ${name} AS r {text}")

    def _call(self, text: str) -> None:
        # A subquery, since an aggregate would go on with one row where the guard has left none.
        self._parts.append(f"CALL {{ {text} RETURN count(*) AS done{len(self._parts)} }}")

    def guard(self, changes: dict[Key, Change]) -> None:
        """Go on only where each entity and each State read is as it was."""
        entities = [
            [key, -1 if picture.current is None else picture.current, picture.rev]
            for key, picture in ((key, change.picture) for key, change in changes.items())
        ]
        known = [
            [node, start, NEVER if seen is None else seen]
            for change in changes.values()
            for node, start, seen in change.picture.known
        ]
        self.params |= {"entities": entities, "known": known}
        self._parts.append(
            f"UNWIND $entities AS r OPTIONAL MATCH (e:{self._entity}) WITH r, e"
            " WHERE coalesce(e.`state:id`, -1) = r[1] AND coalesce(e.`state:rev`, 0) = r[2]"
            f" WITH count(r) AS same WHERE same = {len(entities)}"
        )
        if known:
            self._parts.append(
                "UNWIND $known AS r MATCH (s) WHERE id(s) = r[0] WITH r, s WHERE s.`valid_from:us` = r[1]"
                f" AND coalesce(s.`seen_last:us`, {NEVER}) = r[2]"
                f" WITH count(r) AS same WHERE same = {len(known)}"
            )
        self._parts.append("WITH localdatetime($now) AS now")

    def bear(self, changes: dict[Key, Change]) -> None:
        """Make the entities without State; count up the others, which makes other writers look again."""
        born = [[key] for key, change in changes.items() if change.picture.current is None]
        self._add("born", born, f"MERGE (e:{self._entity}) ON CREATE SET e:Entity")
        kept = [
            [key, change.picture.rev + 1]
            for key, change in changes.items()
            if change.picture.timeline.versions[-1].id is not None
        ]
        self._add("kept", kept, f"MATCH (e:{self._entity}) SET e.`state:rev` = r[1]")

    def drop_edges(self, changes: dict[Key, Change]) -> None:
        """Take out the stored edges that held at no moment."""
        for place, (edge_type, target) in enumerate(self._kind.relations.items()):
            rows = [
                [key, edge.was, edge.target]
                for key, change in changes.items()
                for edges in change.edges.get(edge_type, {}).values()
                for edge in edges
                if edge.stored and edge.gone
            ]
            found = f"MATCH (e:{self._entity}) WITH r, e MATCH (e)-[o:`{edge_type}`]->(y)"
            same = f"o.`valid_from:us` = r[1] AND y.`{target.key}` = r[2]"
            self._add(f"gone{place}", rows, f"{found} WHERE {same} DELETE o")
            self._deletes |= bool(rows)

    def settle_edges(self, changes: dict[Key, Change]) -> None:
        """Give the stored relation edges their new windows."""
        for place, (edge_type, target) in enumerate(self._kind.relations.items()):
            rows = [
                [key, edge.target, edge.was, *instant(edge.start), *instant(edge.end)]
                for key, change in changes.items()
                for edges in change.edges.get(edge_type, {}).values()
                for edge in edges
                if edge.stored and edge.changed and not edge.gone
            ]
            self._add(
                f"edges{place}",
                rows,
                f"MATCH (e:{self._entity}) WITH r, e MATCH (y:`{target.label}` {{`{target.key}`: r[1]}})"
                f" WITH r, e, y MATCH (e)-[o:`{edge_type}`]->(y)"
                " WHERE o.`valid_from:us` = r[2] OR (r[2] IS NULL AND o.`valid_to:us` IS NULL)"
                " SET o.valid_from = coalesce(localdatetime(r[3]), o.valid_from),"
                " o.`valid_from:us` = coalesce(r[4], o.`valid_from:us`),"
                " o.valid_to = localdatetime(r[5]), o.`valid_to:us` = r[6]",
            )

    def settle_states(self, changes: dict[Key, Change]) -> None:
        """Give the stored States their new bounds and sightings."""
        rows = [
            [version.id, *instant(version.start), *instant(version.end), *instant(version.seen)]
            for version in _versions(changes)
            if version.id is not None and version.moved
        ]
        self._add(
            "moved",
            rows,
            "MATCH (s) WHERE id(s) = r[0] SET s.valid_from = localdatetime(r[1]), s.`valid_from:us` = r[2],"
            " s.valid_to = localdatetime(r[3]), s.`valid_to:us` = r[4],"
            " s.seen_last = localdatetime(r[5]), s.`seen_last:us` = r[6]",
        )

    def join(self, changes: dict[Key, Change]) -> None:
        """Rewrite the States that a partial row of their very time has joined."""
        joined = [
            (key, version, version is change.picture.timeline.versions[-1])
            for key, change in changes.items()
            for version in change.picture.timeline.versions
            if version.id is not None and version.joined
        ]
        columns = Columns(self._kind, (version.content for _, version, _ in joined), 5)
        # The whole map is set anew, so that names that went are gone; what the columns lack is kept.
        kept = ("valid_from", "valid_to", "seen_last", "recorded_at")
        own = "".join(f", {name}: s.{name}, `{name}:us`: s.`{name}:us`" for name in kept)
        self._add(
            "joined",
            [
                [
                    key,
                    version.id,
                    version.fp,
                    sorted(version.names or ()),
                    current,
                    *columns.row(version.content),
                ]
                for key, version, current in joined
            ],
            f"MATCH (e:{self._entity}) WITH r, e MATCH (s) WHERE id(s) = r[1] WITH r, e, s"
            f"{seek_vector(self._kind, columns, 'r, e, s')}"
            " SET s = {fp: r[2], `partial:names`: r[3], by: s.by, provenance: s.provenance"
            f"{own}{columns.state()}}}"
            " FOREACH (_ IN CASE WHEN r[4] THEN [1] ELSE [] END |"
            f" SET e = {{`{self._kind.key}`: r[0], `state:id`: id(s), `state:rev`: e.`state:rev`"
            f"{columns.entity()}}}){take_vector(self._kind, columns, 'r[4]')}",
        )

    def cut(self, changes: dict[Key, Change]) -> None:
        """Take out each NEXT between two States that a new one parts."""
        rows = [[before.id] for timeline in _timelines(changes) for before in _parted(timeline)]
        self._add(
            "parted", rows, "MATCH (s) WHERE id(s) = r[0] WITH s MATCH (s)-[n:NEXT]->() DELETE n"
        )
        self._deletes |= bool(rows)

    def renew_stamp(self) -> None:
        """Give the Stamp a new id where something is deleted."""
        if self._deletes:
            self._call("MATCH (m:Stamp) SET m.id = $stamp")

    def make_states(self, changes: dict[Key, Change]) -> None:
        """Make the new States, hang them into the chain and move the entity to the current one."""
        fresh, links, proof = _fresh(changes, self.params["us"])
        if not fresh:
            return
        columns = Columns(self._kind, (version.content for _, version, *_ in fresh), _FIRST)
        self.params |= {"fresh": [_cells(columns, *one) for one in fresh], "links": links}
        text = (
            f"WITH now UNWIND $fresh AS r MATCH (e:{self._entity}) WITH now, r, e"
            " OPTIONAL MATCH (p) WHERE id(p) = r[1] WITH now, r, e, p"
            " OPTIONAL MATCH (n) WHERE id(n) = r[2] WITH now, r, e, p, n"
            f"{seek_vector(self._kind, columns, 'now, r, e, p, n')}"
            " CREATE (e)-[:HAS_STATE]->(s:State {fp: r[4],"
            " valid_from: localdatetime(r[5]), `valid_from:us`: r[6],"
            " valid_to: localdatetime(r[7]), `valid_to:us`: r[8],"
            " seen_last: localdatetime(r[9]), `seen_last:us`: r[10],"
            " recorded_at: now, `recorded_at:us`: $us, by: $by, provenance: $provenance,"
            f" `partial:names`: r[11]{columns.state()}}})"
            " FOREACH (x IN CASE WHEN p IS NULL THEN [] ELSE [p] END | CREATE (x)-[:NEXT]->(s))"
            " FOREACH (x IN CASE WHEN n IS NULL THEN [] ELSE [n] END | CREATE (s)-[:NEXT]->(x))"
            " FOREACH (_ IN CASE WHEN r[3] THEN [1] ELSE [] END |"
            f" SET e = {{`{self._kind.key}`: r[0], `state:id`: id(s){columns.entity()}}})"
            f"{take_vector(self._kind, columns, 'r[3]')}"
            " WITH collect(s) AS made"
            " FOREACH (l IN $links | FOREACH (a IN [made[l[0]]] | FOREACH (b IN [made[l[1]]] |"
            " CREATE (a)-[:NEXT]->(b))))"
        )
        if proof:
            self.params["proof"] = proof
            text += (
                " WITH made UNWIND $proof AS r MATCH (n:Entry {id: r[1]})"
                " FOREACH (s IN [made[r[0]]] | CREATE (s)-[:FROM {`at:us`: r[2]}]->(n))"
            )
        self._call(text)

    def prove_stored(self, changes: dict[Key, Change]) -> None:
        """Link stored States to the entries of late rows that said the same."""
        rows = [
            [version.id, entry, self.params["us"] + place]
            for version in _versions(changes)
            if version.id is not None
            for place, entry in enumerate(dict.fromkeys(version.evidence))
        ]
        self._add(
            "proved",
            rows,
            "MATCH (s) WHERE id(s) = r[0] WITH r, s MATCH (n:Entry {id: r[1]}) WITH r, s, n"
            " OPTIONAL MATCH (s)-[f:FROM]->(n) WITH r, s, n, f WHERE f IS NULL"
            " CREATE (s)-[:FROM {`at:us`: r[2]}]->(n)",
        )

    def open_edges(self, changes: dict[Key, Change], writer: Writer) -> None:
        """Make the new relation edges, and the targets that do not exist."""
        own = Origin(writer.by, writer.recorded, writer.provenance)
        for place, (edge_type, target) in enumerate(self._kind.relations.items()):
            rows = [
                [
                    key,
                    edge.target,
                    *instant(edge.start),
                    *instant(edge.end),
                    *_origin(edge.origin or own),
                ]
                for key, change in changes.items()
                for edges in change.edges.get(edge_type, {}).values()
                for edge in edges
                if not edge.stored and not edge.gone
            ]
            self._add(
                f"opened{place}",
                rows,
                f"MATCH (e:{self._entity}) WITH r, e MERGE (y:`{target.label}` {{`{target.key}`: r[1]}})"
                " ON CREATE SET y:Entity"
                f" CREATE (e)-[:`{edge_type}` {{valid_from: localdatetime(r[2]), `valid_from:us`: r[3],"
                " valid_to: localdatetime(r[4]), `valid_to:us`: r[5], by: r[6],"
                " recorded_at: localdatetime(r[7]), `recorded_at:us`: r[8], provenance: r[9]}]->(y)",
            )


def _timelines(changes: dict[Key, Change]) -> list[Timeline]:
    return [change.picture.timeline for change in changes.values()]


def _versions(changes: dict[Key, Change]) -> list[Version]:
    return [version for timeline in _timelines(changes) for version in timeline.versions]


def _parted(timeline: Timeline) -> list[Version]:
    """Give the stored States that a new one parts from their stored follower."""
    stored = [version for version in timeline.versions if version.id is not None]
    return [
        before
        for before, after in zip(timeline.versions, timeline.versions[1:], strict=False)
        if before.id is not None and after.id is None and before is not stored[-1]
    ]


def _fresh(changes: dict[Key, Change], us: int) -> tuple[list[tuple], list[list[int]], list[list]]:
    """List the new States with their stored neighbours; the links among the new; their evidence."""
    fresh: list[tuple] = []
    links: list[list[int]] = []
    proof: list[list] = []
    for key, change in changes.items():
        versions = change.picture.timeline.versions
        before: Version | None = None
        for version, after in zip(versions, [*versions[1:], None], strict=True):
            if version.id is None:
                if before is not None and before.id is None:
                    links.append([len(fresh) - 1, len(fresh)])
                first, *more = dict.fromkeys(version.evidence) or [None]
                if first:
                    proof.append([len(fresh), first, None])
                    proof += [[len(fresh), entry, us + place] for place, entry in enumerate(more)]
                fresh.append(
                    (key, version, before and before.id, after and after.id, after is None)
                )
            before = version
    return fresh, links, proof


def _cells(
    columns: Columns,
    key: Key,
    version: Version,
    before: int | None,
    after: int | None,
    current: bool,
) -> list:
    names = None if version.names is None else sorted(version.names)
    return [
        key, before, after, current, version.fp, *instant(version.start), *instant(version.end),
        *instant(version.seen), names, *columns.row(version.content),
    ]  # fmt: skip


def _origin(origin: Origin) -> list:
    return [origin.by, *instant(origin.recorded), origin.provenance]
