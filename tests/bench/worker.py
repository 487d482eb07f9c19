"""Rows a second from a topic to their receipts, beside the same rows given to `remember` directly."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message
from falkordb import FalkorDB

import lighthouse
from streams import embedded, topics
from streams.settings import Settings
from tests import working
from tests.servers import ended

#: Entities among which the rows go round.
ENTITIES = 2_000
#: Seconds without a receipt after which the run has failed.
_PATIENCE = 30.0


def measure(folder: Path, rows: int) -> tuple[float, float]:
    """Give the rows a second of `remember`, and of topic to receipts, on the same servers."""
    folder.mkdir(mode=0o700)
    with (
        ended(embedded.start_graph(folder / "graph")) as graph,
        ended(embedded.start_broker(folder / "broker")) as broker,
    ):
        more = "batch_records = 500\nbatch_ms = 200"
        file = working.told(folder, graph.address, broker.address)
        file.file.write_text(
            file.file.read_text().replace("batch_records = 200\nbatch_ms = 50", more)
        )
        given = working.settings.load(file.file)
        feed = list(_feed(rows))
        direct = _directly(FalkorDB.from_url(graph.address), given, feed)
        return direct, _end_to_end(given, feed, folder / "worker.log")


def _feed(rows: int) -> Iterator[dict[str, Any]]:
    for n in range(rows):
        second = n // ENTITIES
        t = f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
        yield working.row(f"thing {n % ENTITIES}", t, n=n, load=1.5, note="reads well") | {
            "relations": {"IN": f"place {n % 20}"}
        }


def _directly(db: FalkorDB, given: Settings, feed: list[dict]) -> float:
    graph, kind = lighthouse.tenant(db, "direct"), given.kinds["Thing"]
    lighthouse.ensure_schema(graph, list(given.kinds.values()))
    rows = [{name: value for name, value in row.items() if name != "kind"} for row in feed]
    start = time.perf_counter()
    for place in range(0, len(rows), 500):
        lighthouse.remember(graph, kind, rows[place : place + 500], "bench")
    return len(rows) / (time.perf_counter() - start)


def _end_to_end(given: Settings, feed: list[dict], log: Path) -> float:
    working.publish(given, feed)
    process = working.started(given, log)
    try:
        moments = _receipt_times(given, len(feed))
    finally:
        process.terminate()
        process.wait(30)
    # The first receipts tell when the worker had begun; what it did before them is not in the span.
    first = min(moments)
    later = [moment for moment in moments if moment > first]
    return len(later) / ((max(moments) - first) / 1000)


def _receipt_times(given: Settings, count: int) -> list[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": given.broker.servers,
            "group.id": "bench-receipts",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topics.full(given, "receipts")])
    moments: list[int] = []
    last = time.monotonic()
    while len(moments) < count:
        messages: list[Message] = consumer.consume(10_000, 0.5)
        if messages:
            last = time.monotonic()
        elif time.monotonic() - last > _PATIENCE:
            raise AssertionError(f"{len(moments)} of {count} receipts came")
        moments += [message.timestamp()[1] for message in messages if not message.error()]
    consumer.close()
    return moments
