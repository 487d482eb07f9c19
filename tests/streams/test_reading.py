"""A topic is read from its beginning to its end, as the broker's answers to fetches show it."""

import secrets
import threading
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from streams import reading
from streams.errors import ServerMissing
from tests.servers import free_port


@pytest.fixture(name="topic")
def _topic(broker: str) -> str:
    """Give the name of a new topic with three partitions."""
    name = f"read-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(15)
    return name


def fill(broker: str, topic: str, first: int, count: int) -> None:
    """Send numbered records in one batch for each partition."""
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 20, "log_level": 0})
    for number in range(first, first + count):
        producer.produce(topic, str(number), partition=number % 2)
    producer.flush(10)
    producer.close()


def test_everything_is_read_once_and_then_it_ends(broker: str, topic: str) -> None:
    """Each partition in its order, an empty one too, to the last record of the last batch."""
    fill(broker, topic, 0, 5_000)

    found = list(reading.records({"bootstrap.servers": broker}, topic))

    assert len(found) == 5_000
    for partition in (0, 1):
        numbers = [int(m.value()) for m in found if m.partition() == partition]
        assert numbers == list(range(partition, 5_000, 2))


def test_an_empty_topic_and_one_that_is_not_there_hold_nothing(broker: str, topic: str) -> None:
    """Reading them ends at once, and makes no topic."""
    client = AdminClient({"bootstrap.servers": broker, "log_level": 0})

    assert list(reading.records({"bootstrap.servers": broker}, topic)) == []
    assert list(reading.records({"bootstrap.servers": broker}, f"{topic}-none")) == []
    assert f"{topic}-none" not in client.list_topics(timeout=10).topics


def test_following_goes_on_with_what_comes(broker: str, topic: str) -> None:
    """After the end it waits for more."""
    fill(broker, topic, 0, 10)
    later = threading.Timer(1.0, fill, (broker, topic, 10, 10))
    later.start()
    started = time.monotonic()

    numbers = []
    for message in reading.records({"bootstrap.servers": broker}, topic, follow=True):
        numbers.append(int(message.value()))
        if len(numbers) == 20:
            break
    later.join()

    assert sorted(numbers) == list(range(20))
    assert time.monotonic() - started > 1.0


def test_without_a_broker_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given and nothing is waited for without end."""
    monkeypatch.setattr("streams.offsets.ANSWER_SECONDS", 1.0)

    with pytest.raises(ServerMissing):
        list(reading.records({"bootstrap.servers": f"127.0.0.1:{free_port()}"}, "t"))
