"""What reaches the broker, what does not, and what is said of it."""

import json
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient, NewTopic

from streams import embedded, feed, mapping, offsets, publish
from streams.errors import ServerMissing, UsageError
from streams.mapping import Mapping
from tests.servers import ended, free_port

LIMIT = 100_000
PLANE = Mapping("Plane", "tail", "at")


@pytest.fixture(name="topic")
def _topic(broker: str) -> str:
    """Give the name of a new topic with three partitions."""
    name = f"publish-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": broker})
    new = NewTopic(name, 3, 1, config={"max.message.bytes": str(LIMIT)})
    admin.create_topics([new])[name].result(15)
    return name


def stored(broker: str, topic: str) -> list[Message]:
    """Read what a topic holds."""
    with offsets.reader({"bootstrap.servers": broker}, "look") as consumer:
        places = offsets.partitions(consumer, [topic])
        return list(offsets.last(consumer, places, 100_000))


def records(path: Path, columns: Mapping | None, **more: Any) -> Iterator[publish.Outgoing]:
    """Make the records of a file."""
    with feed.opened(path) as opened:
        held = mapping.checked(columns, opened.columns) if columns else None
        yield from publish.outgoing(opened, held, **more)


def sent(broker: str, topic: str, made: Any, **more: Any) -> publish.Result:
    """Publish records to a topic."""
    producer = publish.connect({"bootstrap.servers": broker}, topic, LIMIT)
    return publish.send(producer, topic, made, max_bytes=LIMIT, **more)


def written(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_every_line_becomes_a_record_under_the_key_of_its_entity(
    broker: str, topic: str, tmp_path: Path
) -> None:
    """The broker has each row, under the Kafka key <Kind>/<key>, per key in the file's order."""
    lines = "".join(f"N{n % 7},2026-01-01T00:{n:02},{n}\n" for n in range(50))
    path = written(tmp_path, "a.csv", f"tail,at,seats\n{lines}")

    result = sent(broker, topic, records(path, PLANE))

    there = stored(broker, topic)
    assert (result.published, result.unsent, len(there)) == (50, [], 50)
    first = [m.value() for m in there if m.key() == b"Plane/N0"]
    assert first[:2] == [
        b'{"kind":"Plane","key":"N0","t":"2026-01-01T00:00","values":{"seats":0},"relations":{}}',
        b'{"kind":"Plane","key":"N0","t":"2026-01-01T00:07","values":{"seats":7},"relations":{}}',
    ]
    assert len(first) == 8


def test_a_key_goes_to_the_partition_that_java_clients_choose(
    broker: str, topic: str, tmp_path: Path
) -> None:
    """It is the murmur2 hash of the key, made positive, modulo the number of partitions."""
    path = written(tmp_path, "a.csv", "tail,at\nN14228,2026-01-01\nN24211,2026-01-01\n")

    sent(broker, topic, records(path, PLANE))

    found = {m.key(): m.partition() for m in stored(broker, topic)}
    assert found == {key: murmur2(key) % 3 for key in (b"Plane/N14228", b"Plane/N24211")}


def murmur2(data: bytes) -> int:
    """Compute Kafka's hash of a key, written from its definition (seed 0x9747b28c)."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def test_a_record_that_is_too_large_is_named_and_the_next_goes_out(
    broker: str, topic: str, tmp_path: Path
) -> None:
    """Line, size and what to do are told; the lines around it are published."""
    large = "x" * LIMIT
    lines = f"a,2026-01-01,x\nb,2026-01-01,{large}\nc,2026-01-01,\n"
    path = written(tmp_path, "a.csv", f"tail,at,note\n{lines}")

    result = sent(broker, topic, records(path, PLANE))

    (unsent,) = result.unsent
    assert result.published == 2
    assert {m.key() for m in stored(broker, topic)} == {b"Plane/a", b"Plane/c"}
    assert unsent.number == 3
    assert LIMIT < unsent.size < LIMIT + 200
    assert "larger than the broker takes (100,000 bytes)" in unsent.reason
    assert "max_record_bytes" in unsent.reason


def test_the_topics_own_limit_counts_where_it_is_lower(broker: str, topic: str) -> None:
    """So that small records are not refused with a large one that shares their request."""
    config = {"bootstrap.servers": broker}

    assert publish.largest(config, topic, LIMIT + 1) == LIMIT
    assert publish.largest(config, topic, LIMIT - 1) == LIMIT - 1
    assert publish.largest(config, f"none-{topic}", LIMIT) == LIMIT
    assert f"none-{topic}" not in AdminClient(config).list_topics(timeout=10).topics


def test_a_record_at_the_limit_does_not_take_others_with_it(
    broker: str, topic: str, tmp_path: Path
) -> None:
    """The broker may count more bytes than we do: then that record alone is named."""
    room = LIMIT - len(publish.encoded(mapping.row(PLANE, {"tail": "b", "at": "t", "note": ""})))
    lines = [f"a,t,{'x' * 50}\n" * 500, f"b,t,{'x' * (room - len('Plane/b'))}\n", "c,t,x\n"]
    path = written(tmp_path, "a.csv", f"tail,at,note\n{''.join(lines)}")

    result = sent(broker, topic, records(path, PLANE))

    assert result.published + len(result.unsent) == 502
    assert [unsent.number for unsent in result.unsent] in ([], [502])


def test_lines_that_cannot_be_read_go_out_as_they_are(
    broker: str, topic: str, tmp_path: Path
) -> None:
    """The memory is to refuse them, with a dead letter that holds these very bytes."""
    good = b'{"kind":"A","key":"k","t":"2026"}'
    path = written(tmp_path, "a.jsonl", good + b'\n\xff\xfe\n{"kind":\n[1]\n')

    result = sent(broker, topic, records(path, None))

    assert result.published == 4
    assert {(m.key(), m.value()) for m in stored(broker, topic)} == {
        (b"A/k", good),
        (None, b"\xff\xfe"),
        (None, b'{"kind":'),
        (None, b"[1]"),
    }


def test_bytes_that_are_not_utf8_come_out_of_csv_as_they_went_in(tmp_path: Path) -> None:
    """A cell in another encoding is not mended, and not guessed at."""
    path = written(tmp_path, "a.csv", b"tail,at,note\na,2026-01-01,M\xfcnchen\n")

    (record,) = records(path, PLANE)

    assert b'"note":"M\xfcnchen"' in record.value


def test_a_lone_surrogate_stays_an_escape() -> None:
    """JSON may hold one as an escape; it has no bytes of its own."""
    assert publish.encoded({"v": "\ud800"}) == b'{"v":"\\ud800"}'
    assert publish.encoded({"v": "ü"}) == '{"v":"ü"}'.encode()


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({"kind": "A", "key": "a/b"}, b"A/a/b"),
        ({"kind": "A", "key": 5}, b"A/5"),
        ({"kind": "A"}, None),
        ({"key": "a"}, None),
        ({"kind": "A", "key": True}, None),
        ({"kind": "A", "key": ["a"]}, None),
    ],
)
def test_the_key_names_the_entity(row: dict, key: bytes | None) -> None:
    """A row without a kind or a key has none: it will be refused wherever it goes."""
    assert publish.key_of(row) == key


def test_a_csv_line_of_another_width_is_not_published(
    broker: str, topic: str, tmp_path: Path
) -> None:
    """What it lacks cannot be known, so it must not pass for the whole picture."""
    path = written(tmp_path, "a.csv", "tail,at,seats\na,2026-01-01,5\nb,2026-01-01\n")

    result = sent(broker, topic, records(path, PLANE))

    assert result.published == 1
    assert [(u.number, u.reason) for u in result.unsent] == [(3, "2 cells under 3 columns")]


def test_a_rate_paces_the_rows(broker: str, topic: str, tmp_path: Path) -> None:
    """Eleven rows at 20 a second take half a second, and not much more."""
    path = written(tmp_path, "a.csv", "tail,at\n" + "a,2026-01-01\n" * 11)
    start = time.monotonic()

    result = sent(broker, topic, records(path, PLANE), rate=20)

    assert result.published == 11
    assert 0.5 <= time.monotonic() - start < 3


def test_now_moves_the_last_row_to_now(tmp_path: Path) -> None:
    """The shift is found over the whole file; rows without a time do not count."""
    path = written(tmp_path, "a.csv", "tail,at\na,2026-01-03\nb,\nc,2026-01-01\n")

    shift = publish.until_now(path, None, PLANE)
    moved = [mapping.moment_of({"t": t}) for t in times(records(path, PLANE, shift=shift))]

    last, first = moved
    assert abs(last - datetime.now(UTC)) < timedelta(seconds=5)
    assert last - first == timedelta(days=2)


def times(made: Iterator[publish.Outgoing]) -> list[str]:
    """Give the times of the records that have one."""
    return [row["t"] for row in (json.loads(record.value) for record in made) if "t" in row]


def test_a_file_without_times_cannot_be_moved_to_now(tmp_path: Path) -> None:
    """There is nothing to count from."""
    path = written(tmp_path, "a.csv", "tail,at\na,\n")

    with pytest.raises(UsageError, match="no row has a time to shift"):
        publish.until_now(path, None, PLANE)


def test_a_mistyped_topic_is_not_made(broker: str) -> None:
    """Some brokers make a topic under any name: it is asked for first."""
    name = f"none-{secrets.token_hex(4)}"

    with pytest.raises(UsageError, match="topics create"):
        publish.connect({"bootstrap.servers": broker}, name, LIMIT)

    there = AdminClient({"bootstrap.servers": broker}).list_topics(timeout=10).topics
    assert name not in there


def test_a_broker_that_is_not_there_is_a_missing_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said with its address, after a bounded wait."""
    monkeypatch.setattr(publish, "ANSWER_SECONDS", 1)
    servers = f"127.0.0.1:{free_port()}"

    with pytest.raises(ServerMissing, match=servers):
        publish.connect({"bootstrap.servers": servers}, "x", LIMIT)


def test_a_broker_that_goes_away_is_told_with_what_it_has(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line at which it stopped, how many are published, and that sending again is safe."""
    monkeypatch.setattr(publish, "DELIVERY_SECONDS", 2)
    path = written(tmp_path, "a.csv", "tail,at\n" + "a,2026-01-01\n" * 20)
    with ended(embedded.start_broker(data)) as server:
        admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
        admin.create_topics([NewTopic("rows", 1, 1)])["rows"].result(15)
        producer = publish.connect({"bootstrap.servers": server.address}, "rows", LIMIT)

        def killing() -> Iterator[publish.Outgoing]:
            for record in records(path, PLANE):
                if record.number == 12:
                    producer.flush(10)
                    server.kill()
                yield record

        with pytest.raises(ServerMissing, match=r"at line 12 .*; 10 records are published"):
            publish.send(producer, "rows", killing(), max_bytes=LIMIT)


def test_the_first_records_are_shown_as_they_would_go_out(tmp_path: Path) -> None:
    """Line number, key and value; nothing is sent for it."""
    path = written(tmp_path, "a.csv", "tail,at\na,2026-01-01\nb\nc,2026-01-01\n")

    shown = publish.first(records(path, PLANE), 2)

    value = '{"kind":"Plane","key":"a","t":"2026-01-01","values":{},"relations":{}}'
    assert shown == [
        {"line": 2, "key": "Plane/a", "value": value},
        {"line": 3, "key": None, "value": "1 cells under 2 columns"},
    ]
