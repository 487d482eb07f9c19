"""What `status` finds: records, what waits, the group, the graphs."""

import secrets
import time

import pytest
from confluent_kafka import Consumer, Producer
from falkordb import Graph

from streams import settings, status, topics


@pytest.fixture(name="told")
def _told(broker: str, graph_url: str) -> settings.Settings:
    """Give settings with a prefix and a group of this test's own."""
    name = f"status-{secrets.token_hex(4)}"
    flags = {"broker.servers": broker, "graph.url": graph_url}
    return settings.load(
        settings.EXAMPLE, flags | {"worker.prefix": f"{name}.", "worker.group": name}
    )


def test_records_and_lag_are_counted(told: settings.Settings, broker: str, graph: Graph) -> None:
    """Only topics that the group reads have something waiting; graphs are named."""
    graph.query("CREATE (:Stamp)")
    topics.create(told)
    producer = Producer({"bootstrap.servers": broker})
    for number in range(25):
        producer.produce(topics.full(told, "rows"), b"{}", str(number))
    producer.produce(topics.full(told, "receipts"), b"{}")
    producer.flush(10)

    found = status.look(told)

    of = {topic.topic.removeprefix(told.worker.prefix): topic for topic in found.topics}
    assert (of["rows"].records, of["rows"].waiting) == (25, 25)
    assert of["rows"].oldest_ms is not None
    assert (of["receipts"].records, of["receipts"].waiting) == (1, None)
    assert of["dead-letters"].records == 0
    assert found.group_state in ("none", "dead", "empty")
    assert graph.name in found.graphs


def test_a_group_that_reads_is_stable(told: settings.Settings, broker: str) -> None:
    """One consumer that has joined makes it so; once it has left the group is empty."""
    topics.create(told)
    admin, group = topics.admin(told), told.worker.group
    options = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
    consumer = Consumer({"bootstrap.servers": broker, "group.id": group} | options)
    consumer.subscribe([topics.full(told, "rows")])
    deadline = time.monotonic() + 30
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.2)

    joined, members = status.group_of(admin, group)
    consumer.close()
    left, _ = status.group_of(admin, group)

    assert (joined, left) == ("stable", "empty")
    assert members in (None, 1)


def test_topics_that_are_not_there_are_left_out(told: settings.Settings) -> None:
    """Before `topics create` there is nothing to count, and nothing is made by looking."""
    assert status.look(told).topics == ()
    assert not [n for n in topics.existing(topics.admin(told)) if n.startswith(told.worker.prefix)]
