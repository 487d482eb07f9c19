"""What is known of the entities of a write: their current States, and the neighbours of late rows."""

from dataclasses import dataclass
from typing import Any

from lighthouse.errors import SchemaMissing
from lighthouse.kinds import RESERVED, Kind
from lighthouse.queries import READY, ask
from lighthouse.values import Key, own_values
from lighthouse.write.edges import Edge, Edges, Origin
from lighthouse.write.rows import Content, Row, Targets, make_content
from lighthouse.write.timeline import Timeline, Version


@dataclass(slots=True)
class Picture:
    """An entity as it was read: `current` and `rev` guard the write that follows."""

    current: int | None
    rev: int
    timeline: Timeline
    known: list[tuple[int | None, int, int | None]]


def read_pictures(
    graph: Any, kind: Kind, rows: dict[Key, list[Row]], known: dict[Key, Picture]
) -> dict[Key, Picture]:
    """Read what the write rule needs for the rows of each entity.

    `known`: pictures with the current State only, of entities without partial rows, that were read
    already. Raises SchemaMissing, and RuntimeError when two nodes have one key.
    """
    partial = {key for key, own in rows.items() if any(row.partial for row in own)}
    unknown = [key for key in rows if key not in partial and key not in known]
    pictures = {key: known[key] for key in known if key in rows}
    pictures |= _read_current(graph, kind, unknown, False)
    pictures |= _read_current(graph, kind, list(partial), True)
    late = [
        (key, row.t)
        for key, own in rows.items()
        if (versions := pictures[key].timeline.versions)
        for row in own
        if row.t < versions[-1].start
    ]
    _read_neighbours(graph, kind, pictures, dict.fromkeys(late), bool(partial))
    for picture in pictures.values():
        picture.known = [(v.id, v.start, v.seen) for v in picture.timeline.versions]
    return pictures


def read_edges(graph: Any, kind: Kind, since: dict[Key, int]) -> dict[Key, Edges]:
    """Read the relation edges of entities that hold at a time of theirs or later."""
    found: dict[Key, Edges] = {key: {} for key in since}
    for edge_type, target in kind.relations.items():
        text = (
            f"UNWIND $rows AS r MATCH (e:`{kind.label}` {{`{kind.key}`: r[0]}}) WITH r, e"
            f" MATCH (e)-[o:`{edge_type}`]->(y) WHERE o.`valid_to:us` IS NULL OR o.`valid_to:us` > r[1]"
            f" RETURN r[0], y.`{target.key}`, o.`valid_from:us`, o.`valid_to:us`, o.by,"
            " o.`recorded_at:us`, o.provenance"
        )
        for key, to, start, end, by, recorded, provenance in ask(
            graph, text, {"rows": [list(pair) for pair in since.items()]}
        ):
            edge = Edge(to, start, end, True, start, Origin(by, recorded, provenance))
            found[key].setdefault(edge_type, {}).setdefault(to, []).append(edge)
    return found


def _read_current(graph: Any, kind: Kind, keys: list[Key], whole: bool) -> dict[Key, Picture]:
    if not keys:
        return {}
    text = (
        f"{READY} UNWIND $keys AS k OPTIONAL MATCH (e:`{kind.label}` {{`{kind.key}`: k}}) WITH k, e"
        " OPTIONAL MATCH (s) WHERE id(s) = e.`state:id`"
        f" RETURN k, e.`state:rev`, {_columns(kind, 's', whole)}"
    )
    rows = ask(graph, text, {"keys": keys})
    if not rows:
        raise SchemaMissing
    pictures: dict[Key, Picture] = {}
    for key, rev, *state in rows:
        versions = [_version(kind, state, whole)] if state[0] is not None else []
        pictures[key] = Picture(state[0], rev or 0, Timeline(kind, key, versions), [])
    if len(rows) != len(keys) or len(pictures) != len(keys):
        raise RuntimeError(
            f"two nodes of {kind.label} have one key: run ensure_schema, which names them"
        )
    return pictures


def _read_neighbours(
    graph: Any,
    kind: Kind,
    pictures: dict[Key, Picture],
    late: dict[tuple[Key, int], None],
    whole: bool,
) -> None:
    if not late:
        return
    width = _width(kind, whole)
    found: dict[Key, dict[int | None, Version]] = {}
    early: dict[Key, None] = {}
    for key, *states in ask(
        graph, _neighbours_text(kind, whole), {"rows": [list(pair) for pair in late]}
    ):
        for state in (states[:width], states[width:]):
            if state[0] is not None:
                found.setdefault(key, {})[state[0]] = _version(kind, state, whole)
        if states[0] is None:
            early[key] = None
    if early:
        for key, *state in ask(graph, _first_text(kind, whole), {"keys": list(early)}):
            found.setdefault(key, {})[state[0]] = _version(kind, state, whole)
    for key, versions in found.items():
        timeline = pictures[key].timeline
        versions.setdefault(timeline.versions[-1].id, timeline.versions[-1])
        timeline.versions = sorted(versions.values(), key=lambda version: version.start)


def _neighbours_text(kind: Kind, whole: bool) -> str:
    return (
        f"UNWIND $rows AS r MATCH (e:`{kind.label}` {{`{kind.key}`: r[0]}}) WITH r, e"
        " MATCH (c) WHERE id(c) = e.`state:id` WITH r, c"
        " CALL { WITH r, c OPTIONAL MATCH (c)<-[:NEXT*0..]-(s) WHERE s.`valid_from:us` <= r[1]"
        " RETURN s LIMIT 1 }"
        " WITH r, s OPTIONAL MATCH (s)-[:NEXT]->(n)"
        f" RETURN r[0], {_columns(kind, 's', whole)}, {_columns(kind, 'n', whole)}"
    )


def _first_text(kind: Kind, whole: bool) -> str:
    return (
        f"UNWIND $keys AS k MATCH (e:`{kind.label}` {{`{kind.key}`: k}}) WITH k, e"
        " CALL { WITH e MATCH (e)-[:HAS_STATE]->(s) RETURN s ORDER BY s.`valid_from:us` LIMIT 1 }"
        f" RETURN k, {_columns(kind, 's', whole)}"
    )


def _columns(kind: Kind, name: str, whole: bool) -> str:
    plain = ["fp", "`valid_from:us`", "`valid_to:us`", "`seen_last:us`"]
    plain += [f"`to:{edge}`" for edge in kind.relations]
    if whole:
        plain.append("`partial:names`")
    columns = [f"id({name})", *(f"{name}.{column}" for column in plain)]
    if whole:
        columns.append(f"properties({name})")
    return ", ".join(f"{column} AS {name}{place}" for place, column in enumerate(columns))


def _width(kind: Kind, whole: bool) -> int:
    return 5 + len(kind.relations) + (2 if whole else 0)


def _version(kind: Kind, state: list, whole: bool) -> Version:
    node, fp, start, end, seen = state[:5]
    targets: Targets = {
        edge: tuple(state[5 + place] or ()) for place, edge in enumerate(kind.relations)
    }
    version = Version(node, fp, start, end, seen, targets)
    if whole:
        names, properties = state[5 + len(kind.relations) :]
        version.names = None if names is None else set(names)
        version.content = _content(kind, properties, targets)
    return version


def _content(kind: Kind, properties: dict[str, Any], targets: Targets) -> Content:
    times = {name: properties[f"{name}:us"] for name in kind.times if f"{name}:us" in properties}
    return make_content(kind, own_values(properties, RESERVED | times.keys()), times, targets)
