"""A worker as tests run it: settings of a test's own, records for it, and what became of them."""

import json
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from streams import app, dead_letters, receipts, settings, topics
from streams.settings import Settings
from streams.worker import Worker
from tests.commands import command, surroundings

FILE = """
[graph]
url = "{graph}"
[broker]
servers = "{broker}"
[worker]
group = "{name}"
prefix = "{name}."
http = "127.0.0.1:0"
batch_records = 200
batch_ms = 50
{worker}
[topics]
partitions = 3
[kinds.Place]
[kinds.Thing]
times = ["built"]
relations = {{ IN = "Place" }}
[kinds.Hidden]
[[sources]]
topic = "rows"
by = "feed"
tenant = "{name}"
kinds = ["Place", "Thing"]
provenance = "sensor"
{more}
"""


def told(folder: Path, graph: str, broker: str, worker: str = "", more: str = "") -> Settings:
    """Write settings with a prefix, a group and a tenant of a test's own, and create the topics."""
    file = folder / "lighthouse.toml"
    name = f"work-{secrets.token_hex(4)}"
    file.write_text(FILE.format(graph=graph, broker=broker, name=name, worker=worker, more=more))
    loaded = settings.load(file)
    topics.create(loaded)
    return loaded


def make_topic(given: Settings, short: str) -> str:
    """Create a topic that the settings do not plan; return its full name."""
    client, name = topics.admin(given), topics.full(given, short)
    client.create_topics([NewTopic(name, given.topics.partitions, 1)])[name].result(15)
    return name


def delete_topic(given: Settings, name: str) -> None:
    """Delete a topic, and wait until it is gone."""
    client = topics.admin(given)
    client.delete_topics([name])[name].result(15)
    until(lambda: name not in topics.existing(client))


def graph_name(given: Settings) -> str:
    """Name the graph that these settings write to."""
    return f"tenant:{given.worker.group}"


def row(key: str, t: str, **values: Any) -> dict[str, Any]:
    """Make a row of a Thing."""
    return {"kind": "Thing", "key": key, "t": t, "values": values}


def publish(given: Settings, rows: Iterable[Any], topic: str = "rows", pause: float = 0.0) -> None:
    """Send rows, or (key, bytes) pairs as they are; `pause` seconds after each hundred."""
    producer = Producer(
        {
            "bootstrap.servers": given.broker.servers,
            "acks": "all",
            # A topic that was just made refuses the first records for a moment: none may overtake.
            "max.in.flight.requests.per.connection": 1,
            "partitioner": "murmur2_random",
            "log_level": 0,
        }
    )
    name = topics.full(given, topic)
    for number, each in enumerate(rows, 1):
        if isinstance(each, dict):
            key, value = f"{each['kind']}/{each['key']}".encode(), json.dumps(each).encode()
        else:
            key, value = each
        producer.produce(name, value, key)
        if pause and number % 100 == 0:
            producer.poll(0)
            time.sleep(pause)
    assert producer.flush(30) == 0
    producer.close()


@contextmanager
def working(given: Settings) -> Iterator[Worker]:
    """Run a worker in a thread for the time of a test; what it raises is raised at the end."""
    worker = Worker(given, app.Reader)
    raised: list[BaseException] = []

    def run() -> None:
        try:
            worker.run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(40)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def started(given: Settings, log: Path) -> subprocess.Popen[bytes]:
    """Start the worker as a process of its own."""
    folder = given.file.parent
    with log.open("ab") as output:
        return subprocess.Popen(
            command("worker"),
            cwd=folder,
            env=surroundings(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def answered(given: Settings, count: int, seconds: float = 60) -> dict[tuple[int, int], dict]:
    """Wait for receipts of so many records; give them by partition and offset."""
    found: dict[tuple[int, int], dict] = {}

    def complete() -> bool:
        found.clear()
        for receipt in receipts.read(given):
            found[receipt["partition"], receipt["offset"]] = receipt
        return len(found) >= count

    until(complete, seconds, lambda: f"{len(found)} of {count} receipts")
    return found


def letters(given: Settings) -> list[dead_letters.DeadLetter]:
    """Read the dead letters, in the order of the refused records' places."""
    return sorted(dead_letters.read(given), key=lambda each: each.place)


def committed(given: Settings, topic: str = "rows") -> list[int]:
    """Read what the group has committed of each partition, 0 for nothing."""
    consumer = Consumer(
        {
            "bootstrap.servers": given.broker.servers,
            "group.id": given.worker.group,
            "log_level": 0,
        }
    )
    name = topics.full(given, topic)
    partitions = range(given.topics.partitions)
    places = consumer.committed([TopicPartition(name, n) for n in partitions], timeout=15)
    consumer.close()
    return [max(0, place.offset) for place in places]


def until(
    condition: Callable[[], bool], seconds: float = 30, told: Callable[[], str] = str
) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not come to that in time {told()}"
        time.sleep(0.05)
