"""How calls reach the graph: through lighthouse, until each row has an answer of its own."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from redis import exceptions as redis

import lighthouse
from lighthouse import Kind, SchemaMissing, Unavailable
from streams.batch import Call
from streams.errors import ServerMissing
from streams.events import Outcome, Routed
from streams.pressure import Pressure

#: What the log and readiness call the database.
DATABASE = "FalkorDB"
#: Prefix of the name of a tenant's graph.
_TENANT = "tenant:"
#: Most characters of an exception that go into an outcome.
_REASON_CHARACTERS = 1_000


class Busy(Exception):
    """Others write the same entity at the same moment."""


#: What is waited for instead of refusing rows: they speak of the server, not of what was sent.
OUTAGES = (
    Unavailable,
    SchemaMissing,
    Busy,
    ServerMissing,
    redis.ConnectionError,
    redis.TimeoutError,
    OSError,
)


class Graphs:
    """The graphs of a server, by name; connected on first use and again after an outage."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._db: Any = None
        self._known: dict[str, Any] = {}

    def named(self, name: str) -> Any:
        """Give the graph `world` or `tenant:<id>`; raises what `connect` raises."""
        if (graph := self._known.get(name)) is None:
            graph = self._known[name] = self._open(name)
        return graph

    def close(self) -> None:
        """Disconnect; the next use connects anew, where the server may be at another address."""
        db, self._db, self._known = self._db, None, {}
        if db is not None:
            db.connection.close()

    def _open(self, name: str) -> Any:
        if self._db is None:
            self._db = self._connect()
        if name.startswith(_TENANT):
            return lighthouse.tenant(self._db, name.removeprefix(_TENANT))
        return lighthouse.world(self._db)


class Writer:
    """Writes calls one after the other. Used from one thread.

    `kinds` are all kinds of the settings: a graph gets the schema for them before its first row.
    """

    def __init__(self, graphs: Graphs, kinds: Iterable[Kind], pressure: Pressure) -> None:
        self._graphs, self._kinds, self._pressure = graphs, list(kinds), pressure
        self._ensured: set[str] = set()

    def write(self, calls: Sequence[Call]) -> list[Outcome]:
        """Write calls in their order; return one outcome for each of their rows.

        Waits while the server cannot be used; rows are never refused for that. A row that makes the
        library raise is refused alone as `failed`. Raises Abandoned when the wait is given up: some
        rows may be written then, and writing them again has no second effect.
        """
        return [outcome for call in calls for outcome in self._outcomes(call)]

    def _outcomes(self, call: Call) -> list[Outcome]:
        rows = call.rows
        answers = self._until_done(partial(self._answers, call, rows))
        while busy := [at for at, answer in enumerate(answers) if answer["status"] == "busy"]:
            again = self._until_done(partial(self._settled, call, [rows[at] for at in busy]))
            for at, answer in zip(busy, again, strict=True):
                answers[at] = answer
        return [_outcome(routed, answer) for routed, answer in zip(rows, answers, strict=True)]

    def _until_done(self, action: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        def tried() -> list[dict[str, Any]]:
            try:
                return action()
            except OUTAGES:
                self._graphs.close()
                raise

        return self._pressure.until_done(DATABASE, tried, OUTAGES)

    def _settled(self, call: Call, rows: Sequence[Routed]) -> list[dict[str, Any]]:
        """Write rows that others were in the way of; at least the first must be through."""
        answers = self._answers(call, rows)
        if answers[0]["status"] == "busy":
            raise Busy(answers[0].get("reason", ""))
        return answers

    def _answers(self, call: Call, rows: Sequence[Routed]) -> list[dict[str, Any]]:
        """Let the library write rows; halve them until one that makes it raise stands alone."""
        try:
            return self._with_schema(call, rows)
        except OUTAGES:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a row makes the library raise
            if len(rows) == 1:
                reason = f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS]
                return [{"key": rows[0].row.key, "status": "failed", "reason": reason}]
        half = len(rows) // 2
        return self._answers(call, rows[:half]) + self._answers(call, rows[half:])

    def _with_schema(self, call: Call, rows: Sequence[Routed]) -> list[dict[str, Any]]:
        if call.graph not in self._ensured:
            self._ensure_schema(call.graph)
        try:
            return self._call(call, rows)
        except SchemaMissing:
            self._ensured.discard(call.graph)
            self._ensure_schema(call.graph)
            return self._call(call, rows)

    def _ensure_schema(self, name: str) -> None:
        try:
            lighthouse.ensure_schema(self._graphs.named(name), self._kinds)
        except RuntimeError as error:
            # Not ready in time, or a constraint that doubles break: no row can be judged before.
            raise Unavailable(f"the schema of the graph {name} cannot be made: {error}") from error
        self._ensured.add(name)

    def _call(self, call: Call, rows: Sequence[Routed]) -> list[dict[str, Any]]:
        given = [
            {
                "key": routed.row.key,
                "t": routed.row.t,
                "values": routed.row.values,
                "relations": routed.row.relations,
                "entry": routed.row.entry,
            }
            for routed in rows
        ]
        write = lighthouse.update_many if call.partial else lighthouse.remember
        return write(self._graphs.named(call.graph), call.kind, given, call.by, call.provenance)


def _outcome(routed: Routed, answer: dict[str, Any]) -> Outcome:
    row = routed.row
    status, reason = answer["status"], answer.get("reason")
    return Outcome(row.record, routed.graph, row.kind, row.key, row.t, status, reason, routed.by)
