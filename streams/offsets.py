"""How far does each partition reach, how far is the group, and what is waiting?

Ends are taken from the broker's answers to a fetch: the end offsets that Tansu lists are those
of the last batch's beginning (tests/streams/test_offsets.py shows it), Kafka's are the same both
ways.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from streams.errors import ServerMissing

#: Seconds to wait for the broker's answers about all partitions.
ANSWER_SECONDS = 10.0
#: Records taken from the client at a time, and seconds to wait for them.
AT_A_TIME, LOOK_SECONDS = 500, 0.1
#: Bytes of one fetch: enough for a first look, little enough for a thousand partitions.
FETCH_BYTES = 262_144
#: Answers that tell where a partition ends, or that a position lies outside it.
ANSWERED = (
    KafkaError._PARTITION_EOF,
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
)
#: What Kafka answers in the moment after a topic was made.
NOT_YET = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,
)

Place = tuple[str, int]
Places = dict[Place, int]


@dataclass(frozen=True, slots=True)
class Reach:
    """One partition: its first and its next offset, and what the group has not committed yet.

    `committed` is None where the group has committed nothing. `oldest_ms` is the timestamp of the
    first record that waits, in milliseconds since 1970.
    """

    topic: str
    partition: int
    start: int
    end: int
    committed: int | None
    oldest_ms: int | None

    @property
    def waiting(self) -> int:
        """Count the records that the group has not committed."""
        return max(0, self.end - max(self.start, self.committed or 0))

    @property
    def lost(self) -> bool:
        """Say whether the group stands beyond the end: the broker has forgotten its records."""
        return self.committed is not None and self.committed > self.end


@contextmanager
def reader(config: dict[str, Any], group: str) -> Iterator[Consumer]:
    """Give a consumer that looks and commits nothing; raises ServerMissing without a broker."""
    options = {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "log_level": 0,  # what it would log, its answers say
        "max.partition.fetch.bytes": FETCH_BYTES,
        "fetch.wait.max.ms": 50,
    }
    consumer = Consumer(config | options)
    try:
        consumer.list_topics(timeout=ANSWER_SECONDS)
        yield consumer
    except KafkaException as error:
        what = error.args[0].str()
        raise ServerMissing(
            f"no broker answers at {config['bootstrap.servers']}: {what}"
        ) from error
    finally:
        consumer.close()


def partitions(consumer: Consumer, topics: Iterable[str]) -> list[Place]:
    """List the partitions of those topics that exist."""
    there = consumer.list_topics(timeout=ANSWER_SECONDS).topics
    return [(t, p) for t in topics if t in there for p in sorted(there[t].partitions)]


def reaches(consumer: Consumer, places: list[Place]) -> list[Reach]:
    """Look at each partition once: where it ends, and the first record the group waits for."""
    if not places:
        return []
    asked = [TopicPartition(topic, partition) for topic, partition in places]
    committed = {
        (at.topic, at.partition): at.offset if at.offset >= 0 else None
        for at in consumer.committed(asked, timeout=ANSWER_SECONDS)
    }
    starts = {place: _start(consumer, place) for place in places}
    upto = _ends(consumer, starts)
    heads = {place: max(starts[place], committed[place] or 0) for place in places}
    oldest = _times(consumer, {p: at for p, at in heads.items() if at < upto[p]})
    return [Reach(*p, starts[p], upto[p], committed[p], oldest.get(p)) for p in places]


def last(consumer: Consumer, places: list[Place], count: int) -> Iterator[Any]:
    """Give the last records of each partition, at most `count` of each."""
    starts = {place: _start(consumer, place) for place in places}
    upto = _ends(consumer, starts)
    heads = {place: max(starts[place], upto[place] - count) for place in places}
    waiting = {place for place in places if heads[place] < upto[place]}
    _assign(consumer, {place: heads[place] for place in waiting})
    for message in _polled(consumer, waiting):
        place = (message.topic(), message.partition())
        if message.error():
            waiting.discard(place)
            continue
        yield message
        if message.offset() + 1 >= upto[place]:
            waiting.discard(place)


def ends(consumer: Consumer, places: list[Place]) -> Places:
    """Tell the next offset of each partition, where whatever comes now will stand."""
    return _ends(consumer, {place: _start(consumer, place) for place in places})


def since(consumer: Consumer, heads: Places) -> Iterator[list[Any]]:
    """Give what stands from these offsets on, and what comes, for ever; [] when nothing came."""
    _assign(consumer, heads)
    while True:
        messages = consumer.consume(AT_A_TIME, LOOK_SECONDS)
        yield [message for message in messages if not message.error()]


def settled[Answer](ask: Callable[[], Answer]) -> Answer:
    """Ask the broker until a topic that was only just made has its leaders.

    Raises KafkaException for any other answer, and when that takes longer than ANSWER_SECONDS.
    """
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in NOT_YET or time.monotonic() > deadline:
                raise
        time.sleep(LOOK_SECONDS)


def _start(consumer: Consumer, place: Place) -> int:
    partition = TopicPartition(*place)
    return settled(lambda: consumer.get_watermark_offsets(partition, timeout=ANSWER_SECONDS))[0]


def _ends(consumer: Consumer, starts: Places) -> Places:
    # From the start, where each broker answers: beyond the end Tansu says nothing at all.
    return {place: end for place, end, _ in _firsts(consumer, starts)}


def _times(consumer: Consumer, heads: Places) -> Places:
    return {place: message.timestamp()[1] for place, _, message in _firsts(consumer, heads)}


def _firsts(consumer: Consumer, heads: Places) -> Iterator[tuple[Place, int, Any]]:
    _assign(consumer, heads)
    waiting = set(heads)
    for message in _polled(consumer, waiting):
        place = (message.topic(), message.partition())
        if place in waiting:
            waiting.discard(place)
            end = consumer.get_watermark_offsets(TopicPartition(*place), cached=True)[1]
            yield place, max(end, heads[place]), message


def _assign(consumer: Consumer, heads: Places) -> None:
    consumer.assign([TopicPartition(*place, offset) for place, offset in heads.items()])


def _polled(consumer: Consumer, waiting: set[Place]) -> Iterator[Any]:
    deadline = time.monotonic() + ANSWER_SECONDS
    while waiting:
        if time.monotonic() > deadline:
            topic, partition = min(waiting)
            raise ServerMissing(f"the broker does not answer for {topic}/{partition}")
        found: list[Any] = consumer.consume(AT_A_TIME, LOOK_SECONDS)
        for message in found:
            if message.error() and message.error().code() not in ANSWERED:
                raise KafkaException(message.error())
            deadline = time.monotonic() + ANSWER_SECONDS
            yield message
