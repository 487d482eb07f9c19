"""What a graph needs before it is used: constraints, indexes, and the Stamp that says it is ready."""

import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from redis.exceptions import ResponseError

from lighthouse.errors import Unavailable
from lighthouse.kinds import MOST_DIMENSIONS, Kind, reach
from lighthouse.queries import ask, command, tell
from lighthouse.upgrade import upgrade

_UNIQUE = (
    ("Task", "id"),
    ("Agent", "id"),
    ("Episode", "id"),
    ("Entry", "id"),
    ("Handoff", "id"),
    ("Lesson", "id"),
    ("Playbook", "id"),
    ("Session", "key"),
    ("Message", "key"),
    ("Reference", "key"),
)
_RANGE = (
    ("Task", "status"),
    ("Playbook", "name"),
    ("Session", "user"),
    ("WriteFailure", "owner"),
    ("WriteFailure", "same"),
    ("Entry", "serial"),
    ("State", "valid_from:us"),
    ("State", "by"),
    ("Episode", "opened_at:us"),
    ("Episode", "closed_at:us"),
)
_REPLACED = (("State", "valid_from"), ("Episode", "opened_at"), ("Episode", "closed_at"))
_CONSTRAINTS = (
    "CALL db.constraints() YIELD label, properties, status RETURN label, properties, status"
)
#: Seconds between two looks at what is still building.
_LOOK = 0.02


def ensure_schema(
    graph: Any, kinds: Iterable[Kind] = (), wait_seconds: float = 10.0, entry_dimensions: int = 0
) -> None:
    """Make all that the other functions rely on, and wait until it works; safe on every start.

    Makes the constraints and indexes of the contract for the given kinds and all they reach, and the
    Stamp; brings a graph of an earlier version up to date, once, in bounded steps.
    `wait_seconds`: how long to wait for the server's builds. `entry_dimensions`: size of the vectors
    of entries, 0 for none.
    Raises ValueError (one label with two keys, a wrong size), RuntimeError (not ready in time, failed,
    or a vector index of another size), Unavailable.
    """
    if type(entry_dimensions) is not int or not 0 <= entry_dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"entry_dimensions must be a whole number from 0 to {MOST_DIMENSIONS}")
    reached = reach(kinds)
    deadline = time.monotonic() + wait_seconds
    _stamp(graph)
    _drop_replaced(graph, deadline)
    _make_indexes(graph, reached, entry_dimensions, deadline)
    _make_constraints(graph, [*_UNIQUE, *((kind.label, kind.key) for kind in reached)], deadline)
    _wait(graph, deadline)
    upgrade(graph, reached)


def _stamp(graph: Any) -> None:
    """Make the Stamp, exactly one.

    4.22.1 plans a MERGE before the writers queue up: of a label that is new to the graph several
    writers may each make a node, so the later ones are taken out once the label is known.
    """
    tell(graph, "MERGE (m:Stamp) ON CREATE SET m.id = $id", {"id": str(uuid.uuid4())})
    tell(graph, "MATCH (m:Stamp) WITH m ORDER BY id(m) SKIP 1 DELETE m")


def _make_indexes(graph: Any, kinds: list[Kind], entry_dimensions: int, deadline: float) -> None:
    there = _indexes(graph)
    wanted = [(label, name, "RANGE") for label, name in (*_UNIQUE, *_RANGE)]
    wanted += [(kind.label, kind.key, "RANGE") for kind in kinds]
    with_text = [kind.label for kind in kinds if kind.text]
    searched = ["Message", "Entry", *with_text, *(["State"] if with_text else [])]
    wanted += [(label, "words", "FULLTEXT") for label in searched]
    for label, name, sort in wanted:
        if sort not in there.get(label, {}).get(name, ()):
            text = "FULLTEXT INDEX" if sort == "FULLTEXT" else "INDEX"
            _make(
                partial(tell, graph, f"CREATE {text} FOR (n:`{label}`) ON (n.`{name}`)"), deadline
            )
    vectors = [(f"{kind.label}Vector", kind.dimensions) for kind in kinds if kind.dimensions]
    if entry_dimensions:
        vectors.append(("EntryVector", entry_dimensions))
    for label, size in vectors:
        _make_vector_index(graph, label, size, deadline)


def _make_vector_index(graph: Any, label: str, size: int, deadline: float) -> None:
    for row in ask(graph, "CALL db.indexes() YIELD label, options RETURN label, options"):
        if row[0] == label and (known := (row[1] or {}).get("vector", {}).get("dimension")):
            if known != size:
                raise RuntimeError(f"the vectors of {label} have {known} dimensions, not {size}")
            return
    options = f"dimension: {size}, similarityFunction: 'cosine', M: 16"
    options += ", efConstruction: 200, efRuntime: 100"
    text = f"CREATE VECTOR INDEX FOR (n:`{label}`) ON (n.vector) OPTIONS {{{options}}}"
    _make(partial(tell, graph, text), deadline)


def _make_constraints(graph: Any, wanted: list[tuple[str, str]], deadline: float) -> None:
    there = {(row[0], row[1][0]) for row in ask(graph, _CONSTRAINTS) if row[2] != "FAILED"}
    create = partial(command, graph, "GRAPH.CONSTRAINT", "CREATE", graph.name, "UNIQUE", "NODE")
    for label, name in dict.fromkeys(wanted):
        if (label, name) not in there:
            _make(partial(create, label, "PROPERTIES", 1, name), deadline)


def _make(make: Callable[[], Any], deadline: float) -> None:
    """Make an index or a constraint; one that is there is success, a busy server is asked again."""
    while True:
        try:
            make()
            return
        except (ResponseError, Unavailable) as error:
            message = str(error).lower()
            if "already" in message:
                return
            if "progress" not in message or time.monotonic() > deadline:
                raise
            time.sleep(_LOOK)


def _drop_replaced(graph: Any, deadline: float) -> None:
    there = _indexes(graph)
    for label, name in _REPLACED:
        if "RANGE" in there.get(label, {}).get(name, ()):
            _make(partial(tell, graph, f"DROP INDEX FOR (n:{label}) ON (n.{name})"), deadline)


def _indexes(graph: Any) -> dict[str, dict[str, list[str]]]:
    return {
        row[0]: row[1]
        for row in ask(graph, "CALL db.indexes() YIELD label, types RETURN label, types")
    }


def _wait(graph: Any, deadline: float) -> None:
    while pending := _not_ready(graph):
        failed = [name for name, status in pending if status == "FAILED"]
        if failed or time.monotonic() > deadline:
            names = ", ".join(failed or [name for name, _ in pending])
            raise RuntimeError(
                f"not ready: {names}" + (" failed (are there doubles?)" if failed else "")
            )
        time.sleep(_LOOK)


def _not_ready(graph: Any) -> list[tuple[str, str]]:
    indexes = ask(graph, "CALL db.indexes() YIELD label, status RETURN label, status")
    constraints = ask(graph, _CONSTRAINTS)
    return [(f"index on {row[0]}", row[1]) for row in indexes if row[1] != "OPERATIONAL"] + [
        (f"constraint on {row[0]}.{row[1][0]}", row[2])
        for row in constraints
        if row[2] != "OPERATIONAL"
    ]
