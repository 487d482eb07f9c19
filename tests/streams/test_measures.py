"""Metrics, health and readiness are told over HTTP."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from streams import measures
from streams.measures import Measures


@pytest.fixture(name="counted")
def _counted() -> Measures:
    """Give measures of a little work."""
    counted = Measures()
    counted.written(500, 0.2)
    counted.answered([("rows", "created")] * 3 + [("rows", "invalid")], dead=["invalid"])
    counted.off_key(["rows", "rows"])
    counted.retried("FalkorDB")
    counted.lag({("rows", 0): 7, ("rows", 1): 0})
    counted.ready(lambda: True)
    return counted


@pytest.fixture(name="server")
def _server(counted: Measures) -> Iterator[ThreadingHTTPServer]:
    state = {"ready": False, "waiting_for": {"FalkorDB": 3.0}}
    server = measures.serve("127.0.0.1:0", counted, lambda: state)
    assert server is not None
    yield server
    server.shutdown()
    server.server_close()


def asked(server: ThreadingHTTPServer, path: str) -> tuple[int, str]:
    """Ask for a path; give status and body."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    "line",
    [
        'lighthouse_records_total{status="created",topic="rows"} 3.0',
        'lighthouse_records_total{status="invalid",topic="rows"} 1.0',
        "lighthouse_receipts_total 4.0",
        'lighthouse_dead_letters_total{reason="invalid"} 1.0',
        'lighthouse_off_key_records_total{topic="rows"} 2.0',
        'lighthouse_retries_total{server="FalkorDB"} 1.0',
        'lighthouse_lag_records{partition="0",topic="rows"} 7.0',
        "lighthouse_batch_records_sum 500.0",
        'lighthouse_write_seconds_bucket{le="0.25"} 1.0',
        "lighthouse_ready 1.0",
    ],
)
def test_what_happened_is_counted(server: ThreadingHTTPServer, line: str) -> None:
    """/metrics has a line for each."""
    status, text = asked(server, "/metrics")

    assert status == 200
    assert line in text.splitlines()


def test_partitions_that_went_away_have_no_lag(counted: Measures) -> None:
    """After a rebalance only what this worker reads is shown."""
    counted.lag({("rows", 1): 4})

    lags = [each for each in counted.registry.collect() if each.name == "lighthouse_lag_records"]
    assert [sample.labels["partition"] for sample in lags[0].samples] == ["1"]


def test_a_worker_that_waits_is_alive_and_not_ready(server: ThreadingHTTPServer) -> None:
    """/healthz answers 200, /readyz 503 with what it waits for; another path is none."""
    assert asked(server, "/healthz") == (200, "alive\n")
    status, text = asked(server, "/readyz?verbose")
    assert status == 503
    assert json.loads(text) == {"ready": False, "waiting_for": {"FalkorDB": 3.0}}
    assert asked(server, "/nothing")[0] == 404


def test_an_address_that_is_taken_keeps_no_worker_from_starting(
    server: ThreadingHTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the worker does without."""
    address = f"127.0.0.1:{server.server_port}"

    assert measures.serve(address, Measures(), lambda: {"ready": True}) is None
    assert address in caplog.text
