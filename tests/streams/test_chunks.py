"""The transport delivers every record once, in slices, and an offset moves only when one is done."""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from streams import app, embedded, topics
from streams.pieces import Piece
from streams.settings import Settings
from tests.servers import ended, free_port
from tests.working import committed, told, until

Work = Callable[[Piece], None]


@pytest.fixture(name="own")
def _own(tmp_path: Path, broker: str) -> Settings:
    """Give settings with a topic and a group of this test's own."""
    return told(tmp_path, "redis://127.0.0.1:1", broker)


def produce(own: Settings, count: int, **options: Any) -> None:
    """Send numbered records, spread over the partitions by their keys."""
    producer = Producer({"bootstrap.servers": own.broker.servers, "acks": "all", "log_level": 0})
    for number in range(count):
        producer.produce(topics.full(own, "rows"), str(number), f"key-{number % 97}", **options)
        if number % 5000 == 4999:
            producer.flush(20)
    assert producer.flush(20) == 0
    producer.close()


class Running:
    """A reader on a loop in a thread of its own, that hands each piece to `work`."""

    def __init__(self, own: Settings, work: Work) -> None:
        self.lost: list[tuple[str, int, int, int]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.reader: app.Reader = self._on_loop(self._start(own, work))

    async def _start(self, own: Settings, work: Work) -> app.Reader:
        async def put(piece: Piece) -> None:
            work(piece)
            await asyncio.sleep(0)

        name = topics.full(own, "rows")
        lost = lambda *place: self.lost.append(place)  # noqa: E731
        reader = app.Reader(own, own.broker.servers, [name], put, on_lost=lost)
        await reader.start()
        return reader

    def _on_loop(self, call: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(40)

    def call(self, action: Callable[[], Any]) -> Any:
        """Run something on the loop of the reader."""

        async def called() -> Any:
            return action()

        return self._on_loop(called())

    def stop(self) -> None:
        """Stop as a worker does: what is in work is finished and committed, the group is left."""
        self._on_loop(self.reader.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@contextmanager
def reading(own: Settings, work: Work) -> Iterator[Running]:
    """Read for the time of a test."""
    running = Running(own, work)
    try:
        yield running
    finally:
        running.stop()


def with_batches(own: Settings, records: int) -> Settings:
    """Give the settings with another size of batches, which is that of slices too."""
    worker = own.worker.model_copy(update={"batch_records": records})
    return Settings(own.graph, own.broker, worker, own.topics, own.kinds, own.sources, own.file)


def count(pieces: list[Piece]) -> int:
    """Count the records of pieces."""
    return sum(piece.count() for piece in pieces)


def offsets_of(pieces: list[Piece], partition: int) -> list[int]:
    """List the offsets delivered of a partition, in the order they came."""
    records = [record for piece in pieces for record in piece.records("id")]
    return [record.offset for record in records if record.partition == partition]


def test_every_record_is_delivered_once_in_order_and_committed(own: Settings) -> None:
    """Slices of at most a batch hold every record of each partition, in offset order."""
    pieces: list[Piece] = []
    produce(own, 12_000)

    def work(piece: Piece) -> None:
        pieces.append(piece)
        piece.acknowledge()

    with reading(with_batches(own, 300), work) as running:
        until(lambda: count(pieces) >= 12_000)
        lags = running.call(running.reader.lags)
    ends = committed(own)

    assert max(piece.count() for piece in pieces) == 300
    for partition in range(3):
        assert offsets_of(pieces, partition) == list(range(ends[partition]))
    assert sum(ends) == 12_000
    assert set(lags.values()) == {0}


def test_a_record_comes_through_byte_for_byte(own: Settings) -> None:
    """Key, value, headers and timestamp are as they were sent, also empty or missing."""
    pieces: list[Piece] = []
    sent = [(b"\xff\x00", b"{}"), (None, b""), (b"", None), (b"k", b"\x00" * 300_000)]
    headers = [("a", b"\xfe"), ("a", None)]
    producer = Producer({"bootstrap.servers": own.broker.servers})
    for key, value in sent:
        producer.produce(
            topics.full(own, "rows"), value, key, 1, timestamp=1_700_000_000_123, headers=headers
        )
    producer.flush(20)
    producer.close()

    def work(piece: Piece) -> None:
        pieces.append(piece)
        piece.acknowledge()

    with reading(own, work):
        until(lambda: count(pieces) >= len(sent))
    records = [record for piece in pieces for record in piece.records("the-id")]

    assert [(record.key, record.value) for record in records] == sent
    assert {record.headers for record in records} == {tuple(headers)}
    assert {(record.timestamp, record.topic_id, record.partition) for record in records} == {
        (1_700_000_000_123, "the-id", 1)
    }
    assert sum(piece.size() for piece in pieces) == 300_002


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_read(own: Settings, codec: str) -> None:
    """A producer may compress as it likes."""
    pieces: list[Piece] = []
    producer = Producer({"bootstrap.servers": own.broker.servers, "compression.type": codec})
    for number in range(100):
        producer.produce(topics.full(own, "rows"), b"%d" % number * 100, partition=0)
    producer.flush(20)
    producer.close()

    def work(piece: Piece) -> None:
        pieces.append(piece)
        piece.acknowledge()

    with reading(own, work):
        until(lambda: count(pieces) >= 100)

    values = [record.value for piece in pieces for record in piece.records("id")]
    assert values == [b"%d" % number * 100 for number in range(100)]


def test_an_open_chunk_holds_the_offset_and_comes_again(own: Settings) -> None:
    """What is done behind an open one is not committed; the next worker gets all of it."""
    pieces: list[Piece] = []
    again: list[Piece] = []
    produce(own, 1_000, partition=0)

    with reading(with_batches(own, 100), pieces.append) as running:
        until(lambda: len(pieces) == 10)
        for piece in pieces[:3] + pieces[4:]:
            running.call(piece.acknowledge)
        until(lambda: committed(own)[0] == 300)
        time.sleep(1)
        held = committed(own)[0]
        running.call(pieces[3].let_go)

    def work(piece: Piece) -> None:
        again.append(piece)
        piece.acknowledge()

    with reading(own, work):
        until(lambda: count(again) >= 700)

    assert held == 300
    assert offsets_of(again, 0) == list(range(300, 1_000))
    assert committed(own)[0] == 1_000


def test_workers_that_come_and_go_before_any_commit_lose_nothing(own: Settings) -> None:
    """Rebalances while nothing was committed yet start each partition at its beginning again."""
    done: list[Piece] = []
    small = with_batches(own, 100)
    produce(own, 6_000)

    def let_go(piece: Piece) -> None:
        time.sleep(0.01)
        piece.let_go()

    def work(piece: Piece) -> None:
        time.sleep(0.01)
        done.append(piece)
        piece.acknowledge()

    with reading(small, let_go), reading(small, let_go):
        untouched = committed(own)
    with reading(small, work), reading(small, work):
        until(lambda: sum(committed(own)) == 6_000, seconds=60)

    assert untouched == [0, 0, 0]
    for partition, end in enumerate(committed(own)):
        assert set(offsets_of(done, partition)) == set(range(end))


def test_gaps_of_a_topic_are_passed_over(own: Settings) -> None:
    """The markers of transactions take offsets that no record has; reading goes on behind them."""
    pieces: list[Piece] = []
    producer = Producer(
        {"bootstrap.servers": own.broker.servers, "transactional.id": secrets.token_hex(4)}
    )
    producer.init_transactions(20)
    for run in range(3):
        producer.begin_transaction()
        for number in range(10):
            producer.produce(topics.full(own, "rows"), f"{run}/{number}", partition=0)
        producer.commit_transaction(20)
    producer.close()

    def work(piece: Piece) -> None:
        pieces.append(piece)
        piece.acknowledge()

    with reading(with_batches(own, 4), work):
        until(lambda: count(pieces) >= 30)

    values = [record.value.decode() for piece in pieces for record in piece.records("id")]
    assert values == [f"{run}/{number}" for run in range(3) for number in range(10)]
    assert offsets_of(pieces, 0) != list(range(30)), "there are no gaps: this shows nothing"


def test_new_records_are_read_while_a_partition_is_idle(own: Settings) -> None:
    """A record that comes after a quiet time is delivered within a second or two."""
    pieces: list[Piece] = []

    def work(piece: Piece) -> None:
        pieces.append(piece)
        piece.acknowledge()

    with reading(own, work):
        time.sleep(2)
        produce(own, 1)
        until(lambda: len(pieces) == 1, seconds=3)


def test_a_log_that_was_lost_is_told(tmp_path: Path) -> None:
    """A broker that comes back empty is noticed: the group stands before what it committed."""
    pieces: list[Piece] = []
    port = free_port()
    with ended(embedded.start_broker(tmp_path / "one", port)) as first:
        own = told(tmp_path, "redis://127.0.0.1:1", first.address)
        produce(own, 500, partition=0)

        def work(piece: Piece) -> None:
            pieces.append(piece)
            piece.acknowledge()

        running = Running(own, work)
        until(lambda: committed(own)[0] == 500)
        before = list(running.lost)
        first.kill()
        with ended(embedded.start_broker(tmp_path / "one", port)):
            topics.create(own)
            produce(own, 5, partition=0)
            until(lambda: bool(running.lost), seconds=40)
            running.stop()

    assert before == []
    assert running.lost[0] == (topics.full(own, "rows"), 0, 500, 0)


def test_a_group_that_stands_beyond_the_end_is_told(own: Settings) -> None:
    """A committed offset that the log does not reach is lost records, and is not waited on."""
    produce(own, 50, partition=0)
    name = topics.full(own, "rows")
    consumer = Consumer({"bootstrap.servers": own.broker.servers, "group.id": own.worker.group})
    consumer.commit(offsets=[TopicPartition(name, 0, 80)], asynchronous=False)
    consumer.close()

    with reading(own, lambda piece: piece.let_go()) as running:
        until(lambda: bool(running.lost))

    assert set(running.lost) == {(name, 0, 80, 50)}
