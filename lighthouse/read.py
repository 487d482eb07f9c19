"""What is known of one entity: its versions, the one that held at a time, and what it pointed at."""

import json
from typing import Any

from lighthouse import clock
from lighthouse.errors import SchemaMissing
from lighthouse.kinds import Kind
from lighthouse.queries import PAGE, ask, require_ready
from lighthouse.values import Key, check_key

# The entries of a State, each with the place that it has among them.
_EVIDENCE = (
    "OPTIONAL MATCH (s)-[f:FROM]->(n:Entry)"
    " WITH s, start, collect([coalesce(f.`at:us`, -1), n.id]) AS entries"
)


def history(graph: Any, kind: Kind, key: Key) -> list[dict[str, Any]]:
    """List every State of an entity, oldest first; [] for an unknown one.

    Each: `fp`, `valid_from`, `valid_to` (absent on the current one), `seen_last` (if any),
    `recorded_at`, `by`, `provenance` (if any), the values and times; `entry` (and `entries`, when there
    are several) where evidence was named. Times are aware datetimes in UTC.
    Raises ValueError (key), SchemaMissing and Unavailable.
    """
    text = (
        f"MATCH (e:`{kind.label}` {{`{kind.key}`: $key}}) WITH e MATCH (e)-[:HAS_STATE]->(s)"
        " WITH s, s.`valid_from:us` AS start ORDER BY start SKIP $skip LIMIT $page WITH s, start"
        f" {_EVIDENCE} RETURN properties(s), entries ORDER BY start"
    )
    states: list[dict[str, Any]] = []
    while True:
        rows = ask(graph, text, {"key": check_key(key), "skip": len(states), "page": PAGE})
        states += [state_map(*row) for row in rows]
        if len(rows) < PAGE:
            break
    return states or _nothing(graph, [])


def as_of(graph: Any, kind: Kind, key: Key, when: object) -> dict[str, Any] | None:
    """Give the State that held at `when`, as `history` does; None before the first, or when unknown.

    Raises ValueError (key; `when` missing or no time), TypeError (`when` of another type),
    SchemaMissing and Unavailable.
    """
    t = clock.required(when, "when")
    text = f"{_held_at(kind)} WITH s, 0 AS start {_EVIDENCE} RETURN properties(s), entries"
    rows = ask(graph, text, {"key": check_key(key), "t": t})
    return state_map(*rows[0]) if rows else _nothing(graph, None)


def related(graph: Any, kind: Kind, key: Key, relation: str, when: object = None) -> list[Key]:
    """List the keys that a relation points at now, or did at `when`: texts before numbers, rising.

    [] when the entity is unknown. Raises ValueError (relation not declared, key, blank `when`),
    TypeError (`when` of another type),
    SchemaMissing and Unavailable.
    """
    if not isinstance(relation, str) or relation not in kind.relations:
        raise ValueError(f"{str(relation)[:100]!r} is no relation of {kind.label}")
    params: dict[str, Any] = {"key": check_key(key)}
    if when is None:
        found = f"{_entity(kind)} MATCH (s) WHERE id(s) = e.`state:id`"
    else:
        found = _held_at(kind)
        params["t"] = clock.required(when, "when")
    rows = ask(graph, f"{found} RETURN s.`to:{relation}`", params)
    keys = rows[0][0] or [] if rows else _nothing(graph, [])
    return sorted(keys, key=lambda target: (not isinstance(target, str), target))


def state_map(properties: dict[str, Any], entries: list[list]) -> dict[str, Any]:
    """Give the properties of a State as callers see them; `entries`: pairs of a rank and an id.

    Raises SchemaMissing where the State has no microseconds yet.
    """
    if "valid_from:us" not in properties:
        raise SchemaMissing
    shown: dict[str, Any] = {}
    for name, value in properties.items():
        base, mark, what = name.partition(":")
        if what == "us":
            shown[base] = clock.moment(value)
        elif what == "exact":
            shown[base] = json.loads(value)
        elif not mark and name != "words":
            shown.setdefault(name, value)
    evidence = [entry for _, entry in sorted(pair for pair in entries if pair[1] is not None)]
    if evidence:
        shown["entry"] = evidence[0]
    if len(evidence) > 1:
        shown.setdefault("entries", evidence)  # a caller's own value of that name stays
    return shown


def _entity(kind: Kind) -> str:
    return f"MATCH (e:`{kind.label}` {{`{kind.key}`: $key}}) WITH e"


def _held_at(kind: Kind) -> str:
    return (
        f"{_entity(kind)} MATCH (c) WHERE id(c) = e.`state:id` WITH c"
        " CALL { WITH c MATCH (c)<-[:NEXT*0..]-(s) WHERE s.`valid_from:us` <= $t RETURN s LIMIT 1 }"
        " WITH s WHERE s.`valid_to:us` IS NULL OR s.`valid_to:us` > $t"
    )


def _nothing(graph: Any, answer: Any) -> Any:
    """Answer that nothing was found, unless the graph is one that cannot be read yet."""
    require_ready(graph)
    return answer
