"""A lot of records is with the broker, whole, before `send` returns."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from streams import embedded, outbox, reading
from streams.outbox import Letter, Outbox, Undelivered
from tests.servers import ended, free_port
from tests.working import until


@pytest.fixture(name="topic")
def _topic(broker: str) -> str:
    """Give the name of a new topic with three partitions."""
    name = f"out-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(15)
    return name


@pytest.fixture(name="box")
def _box(broker: str) -> Iterator[Outbox]:
    box = Outbox({"bootstrap.servers": broker})
    yield box
    box.close()


def found(broker: str, topic: str) -> list:
    """Read all messages of a topic."""
    return list(reading.records({"bootstrap.servers": broker}, topic))


def sent(box: Outbox, letter: Letter) -> bool:
    """Send once; say whether it arrived."""
    try:
        return box.send([letter]) == []
    except Undelivered:
        return False


def test_every_record_of_a_lot_is_there_as_it_was_made(
    broker: str, topic: str, box: Outbox
) -> None:
    """Keys, values and headers, also empty ones and none, arrive unchanged."""
    letters = [Letter(topic, b"k%d" % n, b"v%d" % n) for n in range(1000)]
    letters += [Letter(topic, None, None), Letter(topic, b"", b"", [("h", b"\xff"), ("h", None)])]

    assert box.send(letters) == []

    sent = {(each.key, each.value, tuple(each.headers or ())) for each in letters}
    there = [(m.key(), m.value(), tuple(m.headers() or ())) for m in found(broker, topic)]
    assert len(there) == 1002
    assert set(there) == sent


def test_a_key_goes_where_java_clients_send_it(broker: str, topic: str, box: Outbox) -> None:
    """Records of one key share a partition with those of a murmur2 producer."""
    other = Producer({"bootstrap.servers": broker, "partitioner": "murmur2"})
    for number in range(60):
        other.produce(topic, b"x", b"key-%d" % number)
    other.flush(10)
    other.close()
    box.send([Letter(topic, b"key-%d" % number, b"x") for number in range(60)])

    partitions: dict[bytes, set[int]] = {}
    for message in found(broker, topic):
        partitions.setdefault(message.key(), set()).add(message.partition())
    assert {len(each) for each in partitions.values()} == {1}
    assert len({min(each) for each in partitions.values()}) == 3


def test_a_record_that_the_broker_finds_too_large_is_given_back_alone(
    broker: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of its lot is delivered."""
    # The limit is the client's here: Tansu takes records of any size.
    monkeypatch.setattr(outbox, "LARGEST_BYTES", 20_000)
    box = Outbox({"bootstrap.servers": broker})
    large = Letter(topic, b"large", b"x" * 50_000)
    letters = [Letter(topic, b"a", b"1"), large, Letter(topic, b"b", b"2")]

    refused = box.send(letters)
    box.close()

    assert refused == [large]
    assert {message.key() for message in found(broker, topic)} == {b"a", b"b"}


def test_a_lot_that_the_broker_did_not_acknowledge_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the broker is away the lot fails; sent again to one that is back, it arrives."""
    monkeypatch.setattr(outbox, "MESSAGE_TIMEOUT_MS", 1_000)
    port = free_port()
    with ended(embedded.start_broker(tmp_path, port)) as first:
        box = Outbox({"bootstrap.servers": first.address})
        assert box.send([Letter("out", b"k", b"1")]) == []
        first.kill()
        with pytest.raises(Undelivered):
            box.send([Letter("out", b"k", b"2")])
        with ended(embedded.start_broker(tmp_path, port)) as second:
            until(lambda: sent(box, Letter("out", b"k", b"2")), 15)
            there = [message.value() for message in found(second.address, "out")]
        box.close()

    assert set(there) == {b"2"}
