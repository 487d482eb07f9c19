"""The worker end to end, on a real broker and a real graph: nothing lost, nothing doubled."""

import dataclasses
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from falkordb import FalkorDB

import lighthouse
from streams import embedded, receipts, topics
from streams.errors import StreamsError
from streams.settings import Settings
from tests.servers import ended, free_port
from tests.working import (
    answered,
    committed,
    graph_name,
    letters,
    make_topic,
    publish,
    row,
    started,
    told,
    until,
    working,
)

GOOD = b'{"kind": "Thing", "key": "a", "t": "2026-01-01", "values": {}}'
#: Records that are refused, each with the reason.
BAD = {
    (b"Thing/a", b"\xff\xfe not text"): "undecodable",
    (b"Thing/a", b"{"): "undecodable",
    (b"Thing/a", b"[1, 2]"): "schema",
    (b"Thing/a", b'{"kind": "Thing", "key": "a"}'): "schema",
    (b"Thing/a", GOOD.replace(b"Thing", b"Nothing")): "unknown-kind",
    (b"Hidden/a", GOOD.replace(b"Thing", b"Hidden")): "not-allowed",
    (b"Thing/a", GOOD.replace(b"2026-01-01", b"2026-04-31")): "invalid",
    (b"Thing/a", GOOD.replace(b'"a"', b'" a"')): "invalid",
    (b"wrong", GOOD.replace(b"{}}", b'{}, "partial": true}')): "key",
    (b"Thing/a", None): "tombstone",
}
LATER = "[[sources]]\ntopic = 'rows\\.(?P<who>[a-z0-9]+)'\nby = 'x'\ntenant = {group = 'who'}\n"
#: Sends GOOD with a header whose name is bytes that are no text.
NO_TEXT = f"""
import asyncio, sys
from aiokafka import AIOKafkaProducer
class NoText(str):
    def encode(self, *_):
        return bytes([255, 254])
async def main():
    async with AIOKafkaProducer(bootstrap_servers=sys.argv[1]) as producer:
        headers = [(NoText("x"), b"1")]
        await producer.send_and_wait(sys.argv[2], {GOOD!r}, b"Thing/a", headers=headers)
asyncio.run(main())
"""
STORED = {"created", "changed", "unchanged"}


#: Faust's tasks and generators complain where they are left behind, as here they must be.
cuts_off = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:Unclosed:ResourceWarning"
)


@pytest.fixture(name="own")
def _own(tmp_path: Path, graph_url: str, broker: str, db: FalkorDB) -> Iterator[Settings]:
    """Give settings of this test's own; its graph is deleted afterwards."""
    own = told(tmp_path, graph_url, broker)
    yield own
    if graph_name(own) in db.list_graphs():
        db.select_graph(graph_name(own)).delete()


def things(count: int, first: int = 0, keys: int = 50) -> list[dict[str, Any]]:
    """Make rows of a few things that change with each row, in order of time for each."""
    return [
        row(f"thing {n % keys}", f"2026-01-01T{n // keys // 60:02d}:{n // keys % 60:02d}:00", n=n)
        for n in range(first, count)
    ]


def versions(db: FalkorDB, own: Settings, key: str) -> list[int]:
    """List the values of a thing's history, oldest first."""
    graph = db.select_graph(graph_name(own))
    return [state["n"] for state in lighthouse.history(graph, own.kinds["Thing"], key)]


def with_worker(own: Settings, **changes: Any) -> Settings:
    """Give the settings with another [worker]."""
    return dataclasses.replace(own, worker=own.worker.model_copy(update=changes))


def test_every_record_is_answered_and_the_bad_ones_are_kept(own: Settings, db: FalkorDB) -> None:
    """1,000 rows with bad ones among them: a receipt each, dead letters for exactly the bad."""
    rows: list[Any] = things(990)
    for place, bad in enumerate(BAD):
        rows.insert(place * 90, bad)
    publish(own, rows)

    with working(own):
        found = answered(own, 1_000)
    dead = letters(own)

    expected = Counter(BAD.values()) + Counter({"created": 50, "changed": 940})
    assert Counter(receipt["status"] for receipt in found.values()) == expected
    assert len({receipt["topic_id"] for receipt in found.values()}) == 1
    assert sum(committed(own)) == 1_000
    assert {(each.key, each.value): each.reason for each in dead} == BAD
    assert len(dead) == len(BAD)
    places = {(int(each.error["partition"]), int(each.error["offset"])) for each in dead}
    assert places == {p for p, receipt in found.items() if receipt["status"] not in STORED}
    for number in range(50):
        assert versions(db, own, f"thing {number}") == list(range(number, 990, 50))


def test_a_header_name_that_is_no_text_costs_one_record(own: Settings, db: FalkorDB) -> None:
    """No client's own producer sends one, others do: refused, kept, and the partition goes on."""
    sent = subprocess.run(
        [sys.executable, "-c", NO_TEXT, own.broker.servers, topics.full(own, "rows")],
        env=os.environ | {"AIOKAFKA_NO_EXTENSIONS": "1"},
        timeout=60,
        check=False,
    )
    publish(own, things(10))

    with working(own):
        found = answered(own, 11)
    dead = letters(own)

    assert sent.returncode == 0
    assert Counter(each["status"] for each in found.values()) == {"created": 10, "undecodable": 1}
    assert [(each.key, each.value) for each in dead] == [(b"Thing/a", GOOD)]
    assert dead[0].headers == (("\\xff\\xfe", b"1"),)


def test_a_worker_that_comes_back_goes_on_where_it_stopped(own: Settings, db: FalkorDB) -> None:
    """After a clean stop nothing is delivered again: no row is answered as known already."""
    publish(own, things(300))
    with working(own):
        answered(own, 300)
    publish(own, things(600, first=300))
    with working(own):
        found = answered(own, 600)

    assert Counter(each["status"] for each in found.values()) == {"created": 50, "changed": 550}
    assert sum(committed(own)) == 600
    assert versions(db, own, "thing 7") == list(range(7, 600, 50))


def test_full_and_partial_rows_of_one_entity_take_effect_in_order(
    own: Settings, db: FalkorDB
) -> None:
    """A batch that mixes them ends with what the last one said, and what it left alone."""
    publish(
        own,
        [
            row("x", "2026-01-01", a=1, b=1),
            row("x", "2026-01-02", a=2) | {"partial": True},
            row("x", "2026-01-03", a=3, b=3),
            row("x", "2026-01-04", b=None, c=4) | {"partial": True},
        ],
    )

    with working(own):
        found = answered(own, 4)
    states = lighthouse.history(db.select_graph(graph_name(own)), own.kinds["Thing"], "x")

    assert Counter(each["status"] for each in found.values()) == {"created": 1, "changed": 3}
    values = [{k: s[k] for k in ("a", "b", "c") if k in s} for s in states]
    assert values == [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 3, "b": 3}, {"a": 3, "c": 4}]
    assert {state["by"] for state in states} == {"feed"}


def test_killed_five_times_nothing_is_lost_or_doubled(
    own: Settings, db: FalkorDB, tmp_path: Path
) -> None:
    """SIGKILL while 5,000 paced rows flow: a receipt each, and histories that the rows tell."""
    log = tmp_path / "worker.log"
    flowing = threading.Thread(target=publish, args=(own, things(5_000)), kwargs={"pause": 0.9})
    flowing.start()

    for kills in range(1, 6):
        worker = started(own, log)
        until(lambda kills=kills: sum(committed(own)) >= 500 * kills, 60, log.read_text)
        worker.kill()
        assert worker.wait(10) == -signal.SIGKILL
    flowing.join()
    worker = started(own, log)
    found = answered(own, 5_000, 90)
    until(lambda: sum(committed(own)) == 5_000)
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(40) == 0, log.read_text()
    assert len(found) == 5_000
    assert {each["status"] for each in found.values()} <= STORED
    assert letters(own) == []
    for number in range(50):
        assert versions(db, own, f"thing {number}") == list(range(number, 5_000, 50))


def test_sigterm_ends_the_worker_with_exit_code_0(own: Settings, tmp_path: Path) -> None:
    """What was answered is committed before it ends, and the log is a few lines of our own."""
    log = tmp_path / "worker.log"
    publish(own, things(200))
    worker = started(own, log)
    answered(own, 200)
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(40) == 0, log.read_text()
    assert sum(committed(own)) == 200
    assert len(log.read_text().splitlines()) < 6, log.read_text()


def test_a_graph_that_is_away_costs_time_and_nothing_else(
    tmp_path: Path, data: Path, broker: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Killed and started again while rows flow: no dead letter, no row lost, told once each way."""
    caplog.set_level(logging.INFO, "streams")
    graph = embedded.start_graph(data)
    own = told(tmp_path, graph.address, broker)
    publish(own, things(400))
    with working(own) as worker:
        answered(own, 400)
        graph.kill()
        publish(own, things(800, first=400))
        until(lambda: "FalkorDB" in worker.readiness()["waiting_for"])
        away = worker.readiness()
        time.sleep(3)
        before = sum(committed(own))
        with ended(embedded.start_graph(data)):
            found = answered(own, 800)
            until(lambda: worker.readiness()["ready"])
            worker.stop()
            until(lambda: not worker.readiness()["reading"])

    lines = [each.message for each in caplog.records if "FalkorDB can" in each.message]
    assert away["ready"] is False
    assert before == 400
    assert {each["status"] for each in found.values()} <= STORED
    assert letters(own) == []
    assert sum(committed(own)) == 800
    assert [line.split(",")[0] for line in lines] == [
        "FalkorDB cannot be used now",
        "FalkorDB can be used again",
    ]


def test_a_stop_while_the_graph_is_away_is_quick_and_commits_nothing_of_it(
    tmp_path: Path, data: Path, broker: str
) -> None:
    """SIGTERM in an outage: exit code 0 well within the grace, and the open rows come again."""
    graph = embedded.start_graph(data)
    own = told(tmp_path, graph.address, broker)
    publish(own, things(100))
    log = tmp_path / "worker.log"
    worker = started(own, log)
    answered(own, 100)
    graph.kill()
    publish(own, things(200, first=100))
    until(lambda: "FalkorDB cannot be used now" in log.read_text())
    asked = time.monotonic()
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(40) == 0, log.read_text()
    assert time.monotonic() - asked < 8
    assert sum(committed(own)) == 100


@cuts_off
def test_a_graph_that_never_answers_does_not_outlast_the_grace(
    tmp_path: Path, data: Path, broker: str
) -> None:
    """A server that hangs in the middle of a write is left behind; its rows come again."""
    with ended(embedded.start_graph(data)) as graph:
        own = told(tmp_path, graph.address, broker, worker="grace_seconds = 2")
        publish(own, things(100))
        with working(own) as worker:
            answered(own, 100)
            os.kill(graph.pid, signal.SIGSTOP)
            publish(own, things(200, first=100))
            time.sleep(1)
            asked = time.monotonic()
            worker.stop()
            until(lambda: worker._reader is None)
            took = time.monotonic() - asked
        os.kill(graph.pid, signal.SIGCONT)
        gc.collect()
        with working(own):
            found = answered(own, 200)

    assert 1.5 < took < 5
    assert {each["status"] for each in found.values()} <= STORED


def test_a_broker_that_is_silent_for_a_while_costs_time(
    tmp_path: Path, graph_url: str, data: Path, db: FalkorDB
) -> None:
    """Stopped in its tracks for longer than a session, the broker has every receipt in the end."""
    with ended(embedded.start_broker(data)) as broker:
        own = told(tmp_path, graph_url, broker.address)
        publish(own, things(100))
        with working(own) as worker:
            answered(own, 100)
            publish(own, things(400, first=100))
            os.kill(broker.pid, signal.SIGSTOP)
            until(lambda: "the broker" in worker.readiness()["waiting_for"], 40)
            os.kill(broker.pid, signal.SIGCONT)
            found = answered(own, 400)
            until(lambda: sum(committed(own)) == 400)

    assert {each["status"] for each in found.values()} <= STORED
    assert versions(db, own, "thing 7") == list(range(7, 400, 50))


def lose_the_log(own: Settings, first: embedded.Server, data: Path, port: int) -> None:
    """Have a worker's broker killed and come back empty at the same address."""
    with working(own) as worker:
        answered(own, 100)
        until(lambda: sum(committed(own)) == 100)
        first.kill()
        with ended(embedded.start_broker(data, port)):
            topics.create(own)
            publish(own, things(20))
            until(lambda: worker._failure is not None, 60)


def test_a_broker_that_comes_back_empty_ends_the_worker(
    tmp_path: Path, graph_url: str, data: Path
) -> None:
    """It says that records were lost, with exit code 3, and skips nothing silently."""
    port = free_port()
    lost = r"lost records|made again|none of the topics"
    with ended(embedded.start_broker(data, port)) as first:
        own = told(tmp_path, graph_url, first.address)
        publish(own, things(100))
        with pytest.raises(StreamsError, match=lost) as end:
            lose_the_log(own, first, data, port)

    assert end.value.exit_code == 3


@cuts_off
def test_a_reader_that_breaks_is_started_again(own: Settings, db: FalkorDB) -> None:
    """Whatever breaks the reader, the worker goes on from what was committed."""
    publish(own, things(100))
    with working(own) as worker:
        answered(own, 100)
        broken = worker._reader
        broken._app._crash(RuntimeError("planted"))
        until(lambda: worker._reader not in (None, broken), 40)
        gc.collect()
        publish(own, things(200, first=100))
        answered(own, 200)

    assert sum(committed(own)) == 200
    assert versions(db, own, "thing 7") == list(range(7, 200, 50))


def test_topics_that_come_later_are_read(
    tmp_path: Path, graph_url: str, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic that a pattern matches is picked up while the worker runs, with its own tenant."""
    monkeypatch.setattr("streams.lookout.LOOK_SECONDS", 0.5)
    own = told(tmp_path, graph_url, broker, more=LATER)
    publish(own, things(10))
    with working(own):
        answered(own, 10)
        make_topic(own, "rows.acme")
        publish(own, [row("a", "2026-01-01", n=1)], topic="rows.acme")
        until(lambda: len(list(receipts.read(own))) == 11, 40)

    graphs = {each["graph"] for each in receipts.read(own)}
    assert graphs == {graph_name(own), "tenant:acme"}


def test_health_readiness_and_metrics_are_served(own: Settings) -> None:
    """/healthz, /readyz and /metrics answer on the port of the settings while the worker runs."""
    port = free_port()
    own = with_worker(own, http=f"127.0.0.1:{port}")
    publish(own, [*things(30), *BAD])

    def asked(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()

    with working(own):
        answered(own, 40)
        until(lambda: "lighthouse_receipts_total 40.0" in asked("/metrics"))
        metrics, ready, health = asked("/metrics"), asked("/readyz"), asked("/healthz")

    assert health == "alive\n"
    assert '"ready": true' in ready
    assert 'lighthouse_dead_letters_total{reason="undecodable"} 2.0' in metrics
    assert "lighthouse_ready 1.0" in metrics


def test_what_keeps_a_worker_from_starting_is_raised(own: Settings) -> None:
    """A worker whose receipts have no topic does not start, and says how to make it."""
    other = with_worker(own, prefix="elsewhere.")

    with (
        pytest.raises(StreamsError, match=r"elsewhere\.receipts is not there: make it with"),
        working(other),
    ):
        time.sleep(2)
