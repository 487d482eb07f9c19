"""A topic is known by its id: one that was made again is noticed."""

import secrets

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from streams import topics
from streams.errors import ServerMissing
from streams.identity import TopicIds, TopicReplaced


@pytest.fixture(name="client")
def _client(broker: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker, "log_level": 0})


@pytest.fixture(name="topic")
def _topic(client: AdminClient) -> str:
    """Give the name of a new topic."""
    return made(client, f"id-{secrets.token_hex(4)}")


def made(client: AdminClient, name: str) -> str:
    """Create a topic of a name."""
    client.create_topics([NewTopic(name, 1, 1)])[name].result(15)
    return name


def test_the_id_is_the_brokers_and_is_asked_for_once(client: AdminClient, topic: str) -> None:
    """Asked for anew only after partitions were assigned anew."""
    asked: list[list[str]] = []

    def ask(names):
        asked.append(list(names))
        return topics.topic_ids(client, names)

    ids = TopicIds(ask)

    first = [ids.of(topic) for _ in range(3)]
    ids.forget()
    again = ids.of(topic)

    assert {*first, again} == {topics.topic_ids(client, [topic])[topic]}
    assert asked == [[topic], [topic]]


def test_a_topic_that_was_made_again_is_another(client: AdminClient, topic: str) -> None:
    """Noticed when its id is asked for, and by a look at it; exit code 3."""
    ids = TopicIds(lambda names: topics.topic_ids(client, names))
    ids.of(topic)
    client.delete_topics([topic])[topic].result(15)
    made(client, topic)
    ids.forget()

    for notice in (lambda: ids.of(topic), lambda: ids.check([topic])):
        with pytest.raises(TopicReplaced, match="was made again") as raised:
            notice()
        assert raised.value.exit_code == 3


def test_one_topic_that_is_gone_is_not_all(client: AdminClient, topic: str) -> None:
    """A deleted topic is somebody's wish; when none is left the broker has lost them."""
    other = made(client, f"{topic}-other")
    ids = TopicIds(lambda names: topics.topic_ids(client, names))
    ids.check([topic, other])
    client.delete_topics([other])[other].result(15)
    ids.check([topic, other])
    client.delete_topics([topic])[topic].result(15)

    with pytest.raises(TopicReplaced, match="none of the topics any more"):
        ids.check([topic, other])


def test_a_broker_that_does_not_answer_is_no_replaced_topic() -> None:
    """What the asking raises comes through, to be waited for."""

    def away(_):
        raise ServerMissing

    with pytest.raises(ServerMissing):
        TopicIds(away).of("t")
