"""How far partitions reach and what waits, where a broker's listed ends cannot be believed."""

import secrets
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams import offsets
from streams.errors import ServerMissing
from tests.servers import free_port


@pytest.fixture(name="topic")
def _topic(broker: str) -> str:
    """Give the name of a new topic with two partitions."""
    name = f"offsets-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(15)
    return name


def fill(broker: str, topic: str, count: int, partition: int = 0) -> None:
    """Put records into a partition, many in one batch."""
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 20})
    for number in range(count):
        producer.produce(topic, str(number), partition=partition)
    producer.flush(10)


def committed(broker: str, group: str, topic: str, offset: int) -> None:
    """Let a group commit an offset of the first partition."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def looked[T](broker: str, group: str, topic: str, look: Callable[..., T]) -> T:
    """Look at the partitions of a topic with a reader of their own."""
    with offsets.reader({"bootstrap.servers": broker}, group) as consumer:
        return look(consumer, offsets.partitions(consumer, [topic]))


def test_the_end_counts_every_record_of_the_last_batch(broker: str, topic: str) -> None:
    """A batch of many records is counted whole: the end is taken from a fetch."""
    fill(broker, topic, 500)

    first, second = looked(broker, "g", topic, offsets.reaches)

    assert (first.start, first.end, first.committed, first.waiting) == (0, 500, None, 500)
    assert (second.start, second.end, second.waiting, second.oldest_ms) == (0, 0, 0, None)
    assert abs(first.oldest_ms / 1000 - time.time()) < 60


def test_what_is_committed_does_not_wait(broker: str, topic: str) -> None:
    """The group's lag is what lies behind its committed offset."""
    group = f"g-{secrets.token_hex(4)}"
    fill(broker, topic, 10)
    committed(broker, group, topic, 7)

    first, _ = looked(broker, group, topic, offsets.reaches)

    assert (first.committed, first.waiting, first.lost) == (7, 3, False)


def test_all_committed_leaves_nothing_waiting(broker: str, topic: str) -> None:
    """Then there is no oldest record either."""
    group = f"g-{secrets.token_hex(4)}"
    fill(broker, topic, 10)
    committed(broker, group, topic, 10)

    first, _ = looked(broker, group, topic, offsets.reaches)

    assert (first.waiting, first.oldest_ms, first.lost) == (0, None, False)


def test_a_group_beyond_the_end_is_told(broker: str, topic: str) -> None:
    """So a broker that was restarted without its records is seen, not taken for "all done"."""
    group = f"g-{secrets.token_hex(4)}"
    fill(broker, topic, 10)
    committed(broker, group, topic, 99)

    first, _ = looked(broker, group, topic, offsets.reaches)

    assert (first.end, first.waiting, first.lost) == (10, 0, True)


def test_the_last_records_of_each_partition(broker: str, topic: str) -> None:
    """At most so many of each, in their order."""
    fill(broker, topic, 30)
    fill(broker, topic, 2, partition=1)

    found = looked(broker, "g", topic, lambda c, places: list(offsets.last(c, places, 5)))

    by_partition = [[int(m.value()) for m in found if m.partition() == p] for p in (0, 1)]
    assert by_partition == [[25, 26, 27, 28, 29], [0, 1]]


def test_what_comes_since_an_end(broker: str, topic: str) -> None:
    """What stood there before is not given again."""
    fill(broker, topic, 5)
    heads = looked(broker, "g", topic, offsets.ends)
    fill(broker, topic, 3)

    with offsets.reader({"bootstrap.servers": broker}, "g") as consumer:
        found: list[int] = []
        for messages in offsets.since(consumer, heads):
            found += [message.offset() for message in messages]
            if len(found) >= 3:
                break

    assert heads == {(topic, 0): 5, (topic, 1): 0}
    assert found == [5, 6, 7]


def test_a_topic_that_was_only_just_made_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka has no leader for it at first; any other answer is not asked for again."""
    monkeypatch.setattr(offsets, "ANSWER_SECONDS", 1.0)
    not_yet = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    refused = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    answers = [not_yet, not_yet, None, refused, *[not_yet] * 100]

    def ask() -> str:
        if error := answers.pop(0):
            raise error
        return "answer"

    assert offsets.settled(ask) == "answer"
    with pytest.raises(KafkaException, match="authorization"):
        offsets.settled(ask)
    with pytest.raises(KafkaException, match=r"[Ll]eader"):
        offsets.settled(ask)


def test_a_topic_that_is_not_there_has_no_partitions(broker: str) -> None:
    """And it is not made by the question."""
    name = f"none-{secrets.token_hex(4)}"

    assert looked(broker, "g", name, lambda consumer, places: places) == []
    assert looked(broker, "g", name, offsets.reaches) == []
    assert name not in AdminClient({"bootstrap.servers": broker}).list_topics(timeout=10).topics


def test_a_broker_that_is_not_there_is_a_missing_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said with its address."""
    monkeypatch.setattr(offsets, "ANSWER_SECONDS", 1.0)
    servers = f"127.0.0.1:{free_port()}"

    with (
        pytest.raises(ServerMissing, match=servers),
        offsets.reader({"bootstrap.servers": servers}, "g"),
    ):
        pass
