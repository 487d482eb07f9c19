"""How does an oracle's row reach the library, and its answer come back in the oracle's form?"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone

import lighthouse
from lighthouse import SELF, Kind
from tests.oracle import Graph, Key, Row
from tests.strategies import DECLARED, ENTRIES, PLACE, THING, TIMES, Call

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_PLACE = Kind(PLACE, key="name", relations={"PART_OF": SELF})
#: The two kinds that `DECLARED` and `TIMES` describe to the oracle.
KINDS = {
    PLACE: _PLACE,
    THING: Kind(THING, times=TIMES[THING], relations={"IN": _PLACE, "NEAR": SELF}),
}


def prepare(graph: object) -> None:
    """Make the schema of the two kinds, and the entries that rows may name as evidence."""
    lighthouse.ensure_schema(graph, list(KINDS.values()))
    graph.query("UNWIND $ids AS id MERGE (:Entry {id: id})", {"ids": list(ENTRIES)})


def deliver(graph: object, calls: Iterable[Call]) -> list[str]:
    """Make the calls and give the status of every row, in the order of the rows."""
    return [receipt["status"] for call in calls for receipt in answer(graph, call)]


def answer(graph: object, call: Call) -> list[dict]:
    """Make one call and give its receipts, one for each row."""
    first = call.rows[0]
    kind = KINDS[first.kind]
    given = [written(row, call.spelling) for row in call.rows]
    if call.function == "update":
        return [lighthouse.update(graph, kind, by=first.by, **given[0])]
    return getattr(lighthouse, call.function)(graph, kind, given, by=first.by)


def expected(calls: Iterable[Call], model: Graph) -> list[str]:
    """Give the oracle the rows of the calls and list what it answers."""
    return [model.deliver(row) for call in calls for row in call.rows]


def model() -> Graph:
    """An empty oracle that knows the two kinds and the entries."""
    return Graph(DECLARED, ENTRIES)


def written(row: Row, spelling: int = 0) -> dict:
    """Write a row as the library takes it; `spelling` picks a way to write times and targets."""
    named = {name: None if at is None else spell(at, spelling) for name, at in row.times.items()}
    relations = {name: _targets(keys, spelling) for name, keys in row.relations.items()}
    given = {"key": row.key, "t": spell(row.t, spelling), "values": {**row.values, **named}}
    given["relations"] = relations or (None if spelling % 2 else {})
    return given if row.entry is None else {**given, "entry": row.entry}


def spell(at: int, spelling: int) -> str | datetime:
    """Write a moment as a datetime or as text, in UTC or elsewhere."""
    moment = EPOCH + at * _MICROSECOND
    east, west = timezone(timedelta(hours=2)), timezone(-timedelta(minutes=90))
    return (
        moment.isoformat(),
        moment.replace(tzinfo=None),
        moment.replace(tzinfo=None).isoformat() + "Z",
        moment.astimezone(east),
        moment.replace(tzinfo=None).isoformat(" "),
        moment.astimezone(west).isoformat(),
    )[spelling]


def micros(moment: datetime) -> int:
    """Count the microseconds from 1970 to an aware datetime."""
    return (moment - EPOCH) // _MICROSECOND


def plain(state: dict | None) -> dict | None:
    """A State as the oracle shows it: moments as integers, and no time of recording."""
    if state is None:
        return None
    moved = {name: micros(it) if isinstance(it, datetime) else it for name, it in state.items()}
    del moved["recorded_at"]
    return moved


def history(graph: object, kind: str, key: Key) -> list[dict]:
    """The library's history of an entity in the oracle's form."""
    return [plain(state) for state in lighthouse.history(graph, KINDS[kind], key)]


def as_of(graph: object, kind: str, key: Key, at: int) -> dict | None:
    """The library's State at a moment in the oracle's form."""
    return plain(lighthouse.as_of(graph, KINDS[kind], key, EPOCH + at * _MICROSECOND))


def related(graph: object, kind: str, key: Key, relation: str, at: int | None = None) -> list[Key]:
    """The library's targets at a moment, or now."""
    when = None if at is None else EPOCH + at * _MICROSECOND
    return lighthouse.related(graph, KINDS[kind], key, relation, when)


def edges(graph: object, kind: str, key: Key) -> list[tuple]:
    """The relation edges of an entity read without the library, as the oracle lists them."""
    declared = KINDS[kind]
    found = []
    for relation, target in declared.relations.items():
        query = (
            f"MATCH (e:{kind} {{{declared.key}: $key}})-[r:{relation}]->(o) RETURN o.{target.key},"
            " r.`valid_from:us`, r.`valid_to:us`, r.by"
        )
        rows = graph.ro_query(query, {"key": key}).result_set
        found += [(relation, *row) for row in rows]
    return sorted(found, key=lambda edge: (edge[0], str(type(edge[1])), edge[1], edge[2]))


def failures(graph: object, keys: Iterable[Key]) -> dict[tuple, list[int]]:
    """What was refused of these keys, read without the library, as the oracle counts it."""
    query = (
        "MATCH (f:WriteFailure) WHERE f.key IN $keys RETURN f.reason, f.kind, f.key, f.detail,"
        " f.times, f.`first_t:us`, f.`last_t:us`"
    )
    found = graph.ro_query(query, {"keys": list(keys)}).result_set
    return {tuple(row[:4]): row[4:] for row in found}


def _targets(keys: tuple[Key, ...], spelling: int) -> object:
    if not keys:
        return None if spelling % 2 else []
    if len(keys) == 1 and spelling % 3:
        return keys[0]
    return (*keys, keys[0]) if spelling % 2 else list(keys)
