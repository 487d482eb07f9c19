"""How is the worker doing: its metrics, and whether it is alive and ready, told over HTTP."""

import json
import logging
import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

log = logging.getLogger("streams.measures")

_BATCH_BUCKETS = (1, 10, 50, 100, 200, 300, 400, 500, 750, 1000, 2000, 5000)
_SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
#: Seconds that a client may take for its request, so that a silent one holds no thread.
_REQUEST_SECONDS = 10

Readiness = Callable[[], Mapping[str, Any]]


class Measures:
    """The metrics of one worker, in a registry of their own. May be used by several threads."""

    def __init__(self) -> None:
        self.registry = to = CollectorRegistry()
        counter = partial(_made, Counter, to)
        self._records = counter("records", "Records answered, by status.", "topic", "status")
        self._off_key = counter(
            "off_key_records", "Rows whose Kafka key is not <Kind>/<key>.", "topic"
        )
        self._receipts = counter("receipts", "Receipts that the broker acknowledged.")
        self._dead_letters = counter(
            "dead_letters", "Dead letters that the broker acknowledged.", "reason"
        )
        self._retries = counter("retries", "Tries that failed: a server was away.", "server")
        self._batch = _made(
            Histogram, to, "batch_records", "Records of a batch.", buckets=_BATCH_BUCKETS
        )
        told = "Seconds to write a batch, waiting for an outage included."
        self._write = _made(Histogram, to, "write_seconds", told, buckets=_SECONDS_BUCKETS)
        told = "Records of a partition that are not done yet."
        self._lag = _made(Gauge, to, "lag_records", told, "topic", "partition")
        self._ready = _made(Gauge, to, "ready", "1 while the worker reads and writes.")

    def off_key(self, topics: Iterable[str]) -> None:
        """Count rows under a Kafka key that is not theirs, one for each topic given."""
        for topic, number in Tally(topics).items():
            self._off_key.labels(topic).inc(number)

    def written(self, records: int, seconds: float) -> None:
        """Note a batch that was written."""
        self._batch.observe(records)
        self._write.observe(seconds)

    def answered(self, answers: Iterable[tuple[str, str]], dead: Iterable[str]) -> None:
        """Note receipts that the broker has, as (topic, status), and reasons of dead letters."""
        tally = Tally(answers)
        for (topic, status), number in tally.items():
            self._records.labels(topic, status).inc(number)
        self._receipts.inc(tally.total())
        for reason, number in Tally(dead).items():
            self._dead_letters.labels(reason).inc(number)

    def retried(self, server: str) -> None:
        """Note a try that failed because a server was away."""
        self._retries.labels(server).inc()

    def lag(self, lags: Mapping[tuple[str, int], int]) -> None:
        """Set the lag of the partitions that this worker reads; others are no longer shown."""
        self._lag.clear()
        for (topic, partition), records in lags.items():
            self._lag.labels(topic, str(partition)).set(records)

    def ready(self, is_ready: Callable[[], bool]) -> None:
        """Ask `is_ready`, whenever the metrics are read, whether the worker reads and writes."""
        self._ready.set_function(is_ready)


def serve(address: str, measures: Measures, readiness: Readiness) -> ThreadingHTTPServer | None:
    """Answer /healthz, /readyz and /metrics on `host:port` from a thread of its own.

    `readiness` gives a map with `ready` and whatever explains it; /readyz answers 503 while it is
    false. Returns the server, to be shut down; None for an empty address, and when the address is
    taken, which is logged: a worker does not stay away because another one has its port.
    """
    if not address:
        return None
    host, _, port = address.rpartition(":")
    try:
        server = ThreadingHTTPServer((host.strip("[]"), int(port)), _handler(measures, readiness))
    except OSError as error:
        log.warning("no health and metrics on %s: %s", address, error)
        return None
    server.daemon_threads = True
    threading.Thread(target=partial(server.serve_forever, 0.1), name="http", daemon=True).start()
    return server


def _made(
    sort: type[Any], to: CollectorRegistry, name: str, told: str, *labels: str, **options: Any
) -> Any:
    return sort(f"lighthouse_{name}", told, labels, registry=to, **options)


def _handler(measures: Measures, readiness: Readiness) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_SECONDS

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(measures.registry))
            elif path == "/readyz":
                state = readiness()
                self._answer(
                    200 if state["ready"] else 503, "application/json", json.dumps(state).encode()
                )
            elif path == "/healthz":
                self._answer(200, "text/plain", b"alive\n")
            else:
                self._answer(404, "text/plain", b"/healthz, /readyz and /metrics are here\n")

        def _answer(self, status: int, sort: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", sort)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, form: str, *parts: Any) -> None:
            log.debug(form, *parts)

    return Handler
