"""How do rows get onto a topic, every one acknowledged by the broker or named?"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from streams import feed, mapping
from streams.errors import ServerMissing, UsageError

#: Seconds until a record that no broker has taken is given up, and the command with it.
DELIVERY_SECONDS = 30
#: Seconds to wait for a first answer of the broker.
ANSWER_SECONDS = 10
#: Records the broker may owe an answer for: bounds the memory, and how far --rate runs ahead.
IN_FLIGHT = 20_000
#: What the broker answers because of one record; everything else speaks of the broker.
TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)
OF_THE_RECORD = (*TOO_LARGE, KafkaError.INVALID_RECORD)
#: Bytes that a record takes on the wire beside key and value, at most.
ENVELOPE_BYTES = 128


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to publish, made from one line of a file."""

    number: int
    position: int
    key: bytes | None
    value: bytes
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Unsent:
    """A line that was not published: its number, its size in bytes, and what to do."""

    number: int
    size: int
    reason: str


@dataclass(slots=True)
class Result:
    """What became of a file: how many records the broker has, and the lines it has not.

    `lost` is the first record for which the broker itself, not the record, was the reason.
    """

    published: int = 0
    unsent: list[Unsent] = field(default_factory=list)
    lost: Unsent | None = None


def outgoing(
    opened: feed.Feed, columns: mapping.Mapping | None, shift: timedelta | None = None
) -> Iterator[Outgoing]:
    """Make the records of a feed. Without a mapping the lines are rows already (JSON lines).

    A line that cannot be read into columns goes out as it is, for the worker to refuse; a CSV
    line with cells too many or too few has no bytes of its own and carries its problem.
    """
    for line in opened.lines:
        if line.fields is None and line.raw is None:
            yield Outgoing(line.number, line.position, None, b"", line.problem)
        elif line.fields is None or (columns is None and shift is None):
            raw = line.raw or b""
            yield Outgoing(line.number, line.position, key_of(line.fields or {}), raw)
        else:
            made = mapping.row(columns, line.fields) if columns else line.fields
            made = mapping.shifted(made, shift) if shift else made
            yield Outgoing(line.number, line.position, key_of(made), encoded(made))


def key_of(made: dict[str, Any]) -> bytes | None:
    """Give the Kafka key of a row, `<Kind>/<key>`; None where it lacks one of the two."""
    kind, key = made.get("kind"), made.get("key")
    if not isinstance(kind, str) or not isinstance(key, str | int) or isinstance(key, bool):
        return None
    return f"{kind}/{key}".encode(errors="surrogatepass")


def encoded(made: dict[str, Any]) -> bytes:
    """Write a row as JSON; bytes of a file that are not UTF-8 come out as they went in."""
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(made, separators=(",", ":")).encode()


def until_now(path: Path, form: str | None, columns: mapping.Mapping | None) -> timedelta:
    """Find the shift that makes the last row of a file happen now.

    Raises UsageError when no row of the file has a time that can be read.
    """
    with feed.opened(path, form) as opened:
        held = mapping.checked(columns, opened.columns) if columns else None
        rows = (line.fields for line in opened.lines if line.fields is not None)
        made = (mapping.row(held, fields) if held else fields for fields in rows)
        times = (moment for moment in map(mapping.moment_of, made) if moment)
        last = max(times, default=None)
    if last is None:
        raise UsageError(f"{path}: no row has a time to shift")
    return datetime.now(UTC) - last


def largest(config: dict[str, Any], topic: str, planned: int) -> int:
    """Give the most bytes that a record of the topic may have: as planned, or less if it says so.

    Where the broker does not tell, what is planned counts.
    """
    resource = ConfigResource(ResourceType.TOPIC, topic)
    client = AdminClient(config | {"log_level": 0})
    try:
        asked = client.describe_configs([resource], request_timeout=ANSWER_SECONDS)
        told = asked[resource].result().get("max.message.bytes")
    except KafkaException:
        return planned
    return min(planned, int(told.value)) if told and told.value else planned


def connect(config: dict[str, Any], topic: str, max_bytes: int) -> Producer:
    """Give a producer for a topic that exists.

    Raises ServerMissing when no broker answers, UsageError when there is no such topic: some
    brokers would make one under any name, a mistyped one too.
    """
    options = {
        "acks": "all",
        "partitioner": "murmur2_random",
        "linger.ms": 5,
        "message.timeout.ms": DELIVERY_SECONDS * 1000,
        "log_level": 0,  # what it would log, its answers say
        "message.max.bytes": max_bytes + ENVELOPE_BYTES,
        # The broker's limit is for a batch: one of many small records must stay below it too.
        "batch.size": min(1_000_000, max_bytes // 2),
    }
    producer = Producer(config | options)
    try:
        there = producer.list_topics(timeout=ANSWER_SECONDS).topics
    except KafkaException as error:
        raise ServerMissing(f"no broker answers at {config['bootstrap.servers']}") from error
    if topic not in there:
        raise UsageError(f"no topic {topic}: make it with `lighthouse-streams topics create`")
    return producer


def send(
    producer: Producer,
    topic: str,
    records: Iterable[Outgoing],
    *,
    max_bytes: int,
    rate: float | None = None,
    stored: Callable[[Message], None] = lambda _: None,
) -> Result:
    """Publish records and wait for the broker's answer to each.

    `rate` is in records a second. `stored` is called with each record that the broker has.
    Raises ServerMissing when the broker has not answered in time: it says how many are published.
    """
    result = Result()
    for record in paced(records, rate):
        _hand_over(producer, topic, record, max_bytes, result, stored)
    while producer.flush(1):
        pass
    _raise_lost(result)
    return result


def paced(records: Iterable[Any], rate: float | None) -> Iterator[Any]:
    """Give records at a rate a second; late ones are given at once until the rate is met."""
    start = time.monotonic()
    for sent, record in enumerate(records):
        if rate:
            time.sleep(max(0.0, start + sent / rate - time.monotonic()))
        yield record


def first(records: Iterable[Outgoing], count: int) -> list[dict[str, Any]]:
    """Show the first records as they would go out: line, key and value."""
    return [
        {
            "line": record.number,
            "key": record.key.decode(errors="replace") if record.key else None,
            "value": record.problem or record.value.decode(errors="replace"),
        }
        for record in islice(records, count)
    ]


def _hand_over(
    producer: Producer,
    topic: str,
    record: Outgoing,
    max_bytes: int,
    result: Result,
    stored: Callable[[Message], None],
) -> None:
    size = len(record.value) + len(record.key or b"")
    if record.problem or size > max_bytes:
        reason = record.problem or too_large(max_bytes)
        result.unsent.append(Unsent(record.number, size, reason))
        return

    def answered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            result.published += 1
            stored(message)
        elif error.code() in OF_THE_RECORD:
            reason = too_large(max_bytes) if error.code() in TOO_LARGE else error.str()
            result.unsent.append(Unsent(record.number, size, reason))
        else:
            result.lost = result.lost or Unsent(record.number, size, error.str())

    while len(producer) >= IN_FLIGHT:
        producer.poll(0.1)
    producer.produce(topic, record.value, record.key, on_delivery=answered)
    producer.poll(0)
    _raise_lost(result)


def too_large(max_bytes: int) -> str:
    """Say what to do about a record that is larger than the broker takes."""
    return (
        f"larger than the broker takes ({max_bytes:,} bytes): shorten its values, or raise "
        "[topics] max_record_bytes and the topic's max.message.bytes"
    )


def _raise_lost(result: Result) -> None:
    lost = result.lost
    if lost:
        raise ServerMissing(
            f"the broker stopped answering at line {lost.number:,} ({lost.reason}); "
            f"{result.published:,} records are published: run it again when the broker is back, "
            "what is there already answers `unchanged`"
        )
