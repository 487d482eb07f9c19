"""Workers that stop let the next one join, whatever order they stop in."""

import asyncio
import secrets
import time

from aiokafka import AIOKafkaConsumer
from confluent_kafka.admin import AdminClient, NewTopic

from streams.membership import Membership


def make_topic(broker: str) -> str:
    """Create a topic with three partitions."""
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    name = f"in-{secrets.token_hex(4)}"
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(10)
    return name


async def joined(broker: str, topic: str, group: str, seconds: float = 20) -> AIOKafkaConsumer:
    """Join a group as a worker does; fails when nothing is assigned in time."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=broker,
        group_id=group,
        session_timeout_ms=6000,
        heartbeat_interval_ms=1000,
        enable_auto_commit=False,
    )
    starting = asyncio.create_task(consumer.start())
    while consumer._coordinator is None:
        await asyncio.sleep(0)
    Membership(consumer._coordinator)
    async with asyncio.timeout(seconds):
        await starting
        while not consumer.assignment():
            await asyncio.sleep(0.05)
    return consumer


def test_a_worker_that_stopped_is_followed_at_once(broker: str) -> None:
    """A lone worker leaves its group; the next one does not wait for a session to run out."""
    topic, group = make_topic(broker), f"group-{secrets.token_hex(4)}"

    async def main() -> float:
        for _ in range(2):
            await (await joined(broker, topic, group)).stop()
        started = time.monotonic()
        await (await joined(broker, topic, group)).stop()
        return time.monotonic() - started

    assert asyncio.run(main()) < 6


def test_two_workers_that_stop_together_do_not_lock_the_group(broker: str) -> None:
    """After the follower and the leader left in one moment a third worker is given partitions."""
    topic, group = make_topic(broker), f"group-{secrets.token_hex(4)}"

    async def main() -> set[int]:
        leader = await joined(broker, topic, group)
        follower = await joined(broker, topic, group)
        await asyncio.gather(follower.stop(), leader.stop())
        third = await joined(broker, topic, group)
        while len(third.assignment()) < 3:
            await asyncio.sleep(0.05)
        partitions = {place.partition for place in third.assignment()}
        await third.stop()
        return partitions

    assert asyncio.run(asyncio.wait_for(main(), 60)) == {0, 1, 2}
