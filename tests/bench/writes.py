"""Rows a second of `remember` by status, beside queries that write or find the same and decide nothing."""

import time
from collections.abc import Callable
from typing import Any

from falkordb import Graph

import lighthouse
from lighthouse.queries import ask, tell
from lighthouse.values import fingerprint

#: Rows of one batch.
BATCH = 500
#: Rows of the batch of one entity, and entities of the batch that it is held against.
CHAIN = 240

ROOM = lighthouse.Kind("Room")
DEVICE = lighthouse.Kind("Device", relations={"IN": ROOM}, text=["note"])
_DAY = 1_767_225_600_000_000
_NOTE = "the sensor reads well"

_WHEN = "localdatetime(r[2])"
_STATE = (
    f"fp: r[1], valid_from: {_WHEN}, `valid_from:us`: r[3], recorded_at: {_WHEN}, `recorded_at:us`: r[3],"
    " by: $by, v: r[4], note: r[5], load: r[6], words: r[5]"
)
_ENTITY = "key: r[0], `state:id`: id(s), v: r[4], note: r[5], load: r[6], words: r[5]"
_EDGE = f"valid_from: {_WHEN}, `valid_from:us`: r[3], recorded_at: {_WHEN}, `recorded_at:us`: r[3], by: $by"
_MADE = (
    f"UNWIND $rows AS r CREATE (s:State {{{_STATE}}})"
    f" CREATE (e:Device:Entity {{{_ENTITY}}})-[:HAS_STATE]->(s)"
)
_FOUND = (
    "UNWIND $rows AS r MATCH (e:Device {key: r[0]}) WITH r, e"
    " MATCH (c) WHERE id(c) = e.`state:id` WITH r, e, c"
)
_NEXT = (
    f" CREATE (e)-[:HAS_STATE]->(s:State {{{_STATE}}})<-[:NEXT]-(c)"
    f" SET c.valid_to = s.valid_from, c.`valid_to:us` = r[3], e = {{{_ENTITY}}}"
)
_OPEN = f" MERGE (y:Room {{key: r[7]}}) CREATE (e)-[:IN {{{_EDGE}}}]->(y)"
_CLOSE = (
    " MATCH (x:Room {key: r[8]}) WITH r, e, c, x"
    " MATCH (e)-[o:IN]->(x) WHERE o.`valid_to:us` IS NULL WITH r, e, c, o"
)
_CLOSED = "o.valid_to = s.valid_from, o.`valid_to:us` = r[3]"

FLOORS = {
    "create": f"{_MADE}{_OPEN} RETURN count(r)",
    "change": f"{_FOUND}{_NEXT} RETURN count(r)",
    "move": f"{_FOUND}{_CLOSE}{_NEXT}, {_CLOSED} WITH r, e{_OPEN} RETURN count(r)",
    "find": (
        "UNWIND $rows AS r MATCH (e:Device {key: r}) WITH e"
        " MATCH (c) WHERE id(c) = e.`state:id` RETURN count(c)"
    ),
}


def measure(graph: Graph, repeats: int) -> dict[str, list[float]]:
    """Time each batch `repeats` times, interleaved; seconds by name."""
    lighthouse.ensure_schema(graph, [DEVICE])
    seconds: dict[str, list[float]] = {}

    def timed(name: str, run: Callable[[], Any], status: str | None = None) -> None:
        start = time.perf_counter()
        answer = run()
        seconds.setdefault(name, []).append(time.perf_counter() - start)
        if status is not None and any(receipt["status"] != status for receipt in answer):
            raise AssertionError(f"{name}: not every row was {status}")

    for repeat in range(repeats + 1):
        _batches(graph, repeat, timed)
        _chains(graph, repeat, timed)
        if repeat == 0:
            seconds.clear()  # the first round warms the server's and our own caches
    return seconds


def _batches(graph: Graph, repeat: int, timed: Callable) -> None:
    floor = [f"f{repeat}-{n}" for n in range(BATCH)]
    ours = [f"d{repeat}-{n}" for n in range(BATCH)]
    timed("floor create", lambda: _floor(graph, "create", floor, 10, "a", None))
    timed("created", lambda: _remember(graph, ours, 10, "a"), "created")
    timed("floor change", lambda: _floor(graph, "change", floor, 20, "a", None))
    timed("changed", lambda: _remember(graph, ours, 20, "a"), "changed")
    timed("floor move", lambda: _floor(graph, "move", floor, 30, "b", "a"))
    timed("changed, relation moved", lambda: _remember(graph, ours, 30, "b"), "changed")
    timed("floor find", lambda: ask(graph, FLOORS["find"], {"rows": ours}))
    timed("unchanged", lambda: _remember(graph, ours, 30, "b"), "unchanged")
    timed("unchanged, seen later", lambda: _remember(graph, ours, 40, "b", said=30), "unchanged")
    timed("inserted", lambda: _remember(graph, ours, 15, "a"), "inserted")


def _chains(graph: Graph, repeat: int, timed: Callable) -> None:
    one = f"one{repeat}"
    many = [f"m{repeat}-{n}" for n in range(CHAIN)]
    lighthouse.remember(graph, DEVICE, [_row(key, 1, "a", 0) for key in (one, *many)], "bench")
    chain = [_row(one, 100 + n, "a", n + 1) for n in range(CHAIN)]
    timed(
        "240 rows of one entity",
        lambda: lighthouse.remember(graph, DEVICE, chain, "bench"),
        "changed",
    )
    wide = [_row(key, 100, "a", n + 1) for n, key in enumerate(many)]
    timed(
        "240 rows of 240 entities",
        lambda: lighthouse.remember(graph, DEVICE, wide, "bench"),
        "changed",
    )


def _remember(
    graph: Graph, keys: list[str], t: int, room: str, said: int | None = None
) -> list[dict]:
    rows = [
        _row(key, t, f"{room}{n % 20}", t if said is None else said) for n, key in enumerate(keys)
    ]
    return lighthouse.remember(graph, DEVICE, rows, "bench")


def _row(key: str, t: int, room: str, said: int) -> dict[str, Any]:
    values = {"v": said, "note": _NOTE, "load": 1.5}
    return {"key": key, "t": _iso(t), "values": values, "relations": {"IN": room}}


def _floor(graph: Graph, name: str, keys: list[str], t: int, room: str, left: str | None) -> None:
    rows = [
        [key, fingerprint(f"{key}{t}"), _iso(t)[:19], _DAY + t * 1_000_000, t, _NOTE, 1.5, f"{room}{n % 20}",
         f"{left}{n % 20}"]
        for n, key in enumerate(keys)
    ]  # fmt: skip
    tell(graph, FLOORS[name], {"rows": rows, "by": "bench"})


def _iso(second: int) -> str:
    return f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
