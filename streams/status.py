"""How is the work going: what waits on each topic, who reads, and what the servers hold?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from streams import embedded, offsets, topics
from streams.errors import ServerMissing
from streams.settings import Settings

#: Seconds for the broker's answer about the group.
ANSWER_SECONDS = 10


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """What one topic holds. `waiting` is the group's lag, None for a topic that it does not read.

    `oldest_ms` is the timestamp of the oldest record that waits, in milliseconds since 1970. `lost`
    says that the group stands beyond the end: the broker was restarted without its records.
    """

    topic: str
    partitions: int
    records: int
    waiting: int | None
    oldest_ms: int | None
    lost: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the topics, of the consumer group, and of the graphs."""

    broker: str
    graph: str | None
    topics: tuple[TopicStatus, ...]
    group: str
    group_state: str
    members: int | None
    graphs: tuple[str, ...]


def look(settings: Settings) -> Status:
    """Look at the servers once.

    Raises ServerMissing when the broker does not answer; a graph that is away is shown as such.
    """
    at = embedded.addresses(settings)
    client = topics.admin(settings)
    read = topics.resolve(settings, topics.existing(client))
    names = list(dict.fromkeys([*(topic.name for topic in topics.planned(settings)), *read]))
    state, members = group_of(client, settings.worker.group)
    with offsets.reader(topics.client_config(settings), settings.worker.group) as consumer:
        reaches = offsets.reaches(consumer, offsets.partitions(consumer, names))
    return Status(
        broker=embedded.broker_servers(settings),
        graph=at.graph and at.graph.rpartition("@")[2],
        topics=tuple(_topics(reaches, set(read))),
        group=settings.worker.group,
        group_state=state,
        members=members,
        graphs=_graphs(settings),
    )


def group_of(client: Any, group: str) -> tuple[str, int | None]:
    """Tell the state of a consumer group, "none" for no group, and how many members it has.

    A group that reads is "stable". Tansu does not name the members: None stands for that.
    """
    try:
        asked = client.describe_consumer_groups([group], request_timeout=ANSWER_SECONDS)
        found = asked[group].result()
    except KafkaException:
        return "none", 0
    state = found.state.name.lower()
    untold = not found.members and state != "empty"
    return state, None if untold else len(found.members)


def _topics(reaches: Iterable[offsets.Reach], read: set[str]) -> Iterable[TopicStatus]:
    by_topic: dict[str, list[offsets.Reach]] = {}
    for reach in reaches:
        by_topic.setdefault(reach.topic, []).append(reach)
    for topic, parts in by_topic.items():
        oldest = [part.oldest_ms for part in parts if part.oldest_ms is not None]
        yield TopicStatus(
            topic,
            len(parts),
            sum(part.end - part.start for part in parts),
            sum(part.waiting for part in parts) if topic in read else None,
            min(oldest, default=None) if topic in read else None,
            any(part.lost for part in parts),
        )


def _graphs(settings: Settings) -> tuple[str, ...]:
    try:
        db = embedded.connect(settings)
    except ServerMissing:
        return ()
    try:
        return tuple(sorted(db.list_graphs()))
    finally:
        db.connection.close()
