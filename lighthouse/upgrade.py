"""Bringing a graph of an earlier version up to date, once, in bounded steps that may be repeated."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from lighthouse import clock
from lighthouse.kinds import Kind
from lighthouse.queries import ask, tell
from lighthouse.values import in_order, words

#: Node ids of one step.
_STEP = 2_000
_LABELS = (
    "Entity", "State", "Episode", "Entry", "Handoff", "Lesson", "Playbook", "Task", "Session", "Message",
    "WriteFailure",
)  # fmt: skip

_NODE = "MATCH (n) WHERE id(n) = r[0]"


def upgrade(graph: Any, kinds: Iterable[Kind]) -> None:
    """Give a graph what this version relies on, and note it on the Stamp; nothing where it is noted.

    Microseconds beside every time; folded words; on entities the id of their current State; on States
    the targets of their relations; serials of entries; the user's word in messages.
    """
    marks = ask(graph, "MATCH (m:Stamp) RETURN m.times, m.entries, m.messages_owned LIMIT 1")[0]
    if marks[0] != "us":
        _give_times(graph)
        _point_at_current(graph, {kind.label: kind.key for kind in kinds} | _keys(graph))
    if marks[1] is None:
        _number_entries(graph)
    if not marks[2]:
        _own_messages(graph)
    tell(graph, "MATCH (m:Stamp) SET m.times = 'us', m.messages_owned = true")


def user_word(user: str) -> str:
    """Give the word by which the messages of a user are found: `u` and 30 digits of a hash of the name."""
    return "u" + hashlib.sha256(json.dumps(user).encode()).hexdigest()[:30]


def _give_times(graph: Any) -> None:
    for label in _LABELS:
        for span in _spans(graph, label):
            rows = ask(
                graph, f"MATCH (n:{label}) WHERE {_within('n')} RETURN id(n), properties(n)", span
            )
            _set(graph, _NODE, "n", [([node], _additions(own)) for node, own in rows])
    for span in _spans(graph, None):
        rows = ask(
            graph,
            f"MATCH (n) WHERE {_within('n')} WITH n MATCH (n)-[o]->() RETURN id(n), id(o), properties(o)",
            span,
        )
        found = "MATCH (n) WHERE id(n) = r[0] WITH r, n MATCH (n)-[o]->() WHERE id(o) = r[1]"
        _set(graph, found, "o", [([node, edge], _additions(own)) for node, edge, own in rows])


def _additions(properties: dict[str, Any]) -> dict[str, Any]:
    added: dict[str, Any] = {
        f"{name}:us": clock.micros(value)
        for name, value in properties.items()
        if isinstance(value, datetime) and f"{name}:us" not in properties
    }
    if isinstance(text := properties.get("words"), str) and words([text]) != text:
        added["words"] = words([text])
    return added


def _set(graph: Any, found: str, name: str, rows: list[tuple[list[int], dict[str, Any]]]) -> None:
    """Set properties of what is found by the first cells of a row, one query for each property name."""
    for added in sorted({key for _, additions in rows for key in additions}):
        cells = [[*ids, additions[added]] for ids, additions in rows if added in additions]
        text = f"UNWIND $rows AS r {found} SET {name}.`{added}` = r[{len(cells[0]) - 1}]"
        tell(graph, text, {"rows": cells})


def _point_at_current(graph: Any, keys: dict[str, str]) -> None:
    for span in _spans(graph, "Entity"):
        entities = f"MATCH (e:Entity) WHERE {_within('e')} WITH e MATCH (e)"
        states = ask(
            graph,
            f"{entities}-[:HAS_STATE]->(s) RETURN id(e), id(s), s.`valid_from:us`, s.valid_to IS NULL",
            span,
        )
        current = [
            ([entity], {"state:id": state}) for entity, state, _, is_open in states if is_open
        ]
        _set(graph, _NODE, "n", current)
        edges = ask(
            graph,
            f"{entities}-[o]->(y:Entity) WHERE o.valid_from IS NOT NULL RETURN id(e), type(o), labels(y),"
            " properties(y), o.`valid_from:us`, o.`valid_to:us`",
            span,
        )
        _set(graph, _NODE, "n", list(_targets(states, edges, keys)))


def _targets(
    states: list, edges: list, keys: dict[str, str]
) -> Iterator[tuple[list[int], dict[str, list]]]:
    held: dict[int, list] = {}
    for entity, edge_type, labels, target, start, end in edges:
        label = next((label for label in labels if label in keys), None)
        if label is not None:
            held.setdefault(entity, []).append((edge_type, target[keys[label]], start, end))
    for entity, state, at, _ in states:
        targets: dict[str, list] = {}
        for edge_type, key, start, end in held.get(entity, ()):
            if start <= at and (end is None or end > at):
                targets.setdefault(f"to:{edge_type}", []).append(key)
        if targets:
            yield [state], {name: in_order(named) for name, named in targets.items()}


def _keys(graph: Any) -> dict[str, str]:
    """Give the key property of each label that has a unique constraint."""
    rows = ask(graph, "CALL db.constraints() YIELD label, properties RETURN label, properties")
    return {label: properties[0] for label, properties in rows}


def _number_entries(graph: Any) -> None:
    """Give entries without a serial theirs, in order of recording, after the highest there is."""
    last = ask(graph, "MATCH (n:Entry) RETURN coalesce(max(n.serial), 0)")[0][0]
    rows = ask(
        graph, "MATCH (n:Entry) WHERE n.serial IS NULL RETURN n.`recorded_at:us`, n.id, id(n)"
    )
    ordered = sorted(rows, key=lambda row: (row[0] or 0, row[1]))
    numbered = [([node], {"serial": last + place}) for place, (_, _, node) in enumerate(ordered, 1)]
    for start in range(0, len(numbered), _STEP):
        _set(graph, _NODE, "n", numbered[start : start + _STEP])
    if numbered or last:
        tell(graph, "MATCH (m:Stamp) SET m.entries = $count", {"count": last + len(numbered)})


def _own_messages(graph: Any) -> None:
    for span in _spans(graph, "Message"):
        rows = ask(
            graph, f"MATCH (n:Message) WHERE {_within('n')} RETURN id(n), n.user, n.words", span
        )
        owned = [
            ([node], {"words": f"{user_word(user)} {text or ''}".strip()})
            for node, user, text in rows
            if not (text or "").startswith(user_word(user))
        ]
        _set(graph, _NODE, "n", owned)


def _spans(graph: Any, label: str | None) -> Iterator[dict[str, int]]:
    """Cut the ids that nodes of a label have into spans of one step."""
    found = ask(graph, f"MATCH (n{':' + label if label else ''}) RETURN min(id(n)), max(id(n))")
    if found and found[0][0] is not None:
        for start in range(int(found[0][0]), int(found[0][1]) + 1, _STEP):
            yield {"first": start, "end": start + _STEP}


def _within(name: str) -> str:
    return f"id({name}) >= $first AND id({name}) < $end"
