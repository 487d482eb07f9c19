"""Topics: planned, created and compared on a real broker, and which source reads which."""

import dataclasses
import secrets
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from streams import settings, topics
from streams.errors import ServerMissing, SettingsError
from streams.settings import Settings
from tests import servers

Told = Callable[..., Settings]


@pytest.fixture(name="told")
def _told(tmp_path: Path) -> Told:
    """Give settings with sources of these topics, and a prefix that no other test has."""

    def load(*sources: str, **overrides: Any) -> Settings:
        file = tmp_path / "lighthouse.toml"
        tables = [
            f"[[sources]]\ntopic = '{topic}'\nby = 'x'\ncontract = 'rows'\n" for topic in sources
        ]
        file.write_text("\n".join(tables))
        prefix = {"worker.prefix": f"test-{secrets.token_hex(4)}."}
        flags = {name.replace("__", "."): value for name, value in overrides.items()}
        return settings.load(file, prefix | flags)

    return load


def test_planned_topics(told: Told) -> None:
    """Inputs are kept without end, our own for days, and dead letters have more room."""
    there = told("rows", r"rows\.(a|b)", topics__receipts_days=2, topics__max_record_bytes=5000)

    rows, receipts, dead_letters = topics.planned(there)

    assert rows.name == topics.full(there, "rows")
    assert (rows.retention_ms, rows.max_message_bytes) == (-1, 5000)
    assert receipts.name == topics.full(there, "receipts")
    assert (receipts.retention_ms, receipts.max_message_bytes) == (2 * 86_400_000, 5000)
    assert dead_letters.name == topics.full(there, "dead-letters")
    assert (dead_letters.retention_ms, dead_letters.max_message_bytes) == (
        2 * 86_400_000,
        5000 + 65_536,
    )


def test_create_makes_what_is_missing_and_then_nothing(told: Told, broker: str) -> None:
    """The first call creates the topics as planned, each with an id; the second finds them."""
    there = told("rows", broker__servers=broker, topics__partitions=3)

    first, second = topics.create(there), topics.create(there)

    assert [state.state for state in first] == ["created"] * 3
    assert [state.state for state in second] == ["exists"] * 3
    assert [state.partitions for state in second] == [3] * 3
    assert len({uuid.UUID(state.topic_id) for state in first}) == 3
    assert [s.topic_id for s in first] == [s.topic_id for s in second]


def test_create_fills_a_gap(told: Told, broker: str) -> None:
    """A topic that is missing among others is created beside them."""
    there = told("rows", broker__servers=broker)
    client = topics.admin(there)
    _made(client, topics.planned(there)[1])

    states = topics.create(there)

    assert [state.state for state in states] == ["created", "exists", "created"]


def test_create_tells_what_differs_and_changes_nothing(told: Told, broker: str) -> None:
    """A topic made otherwise is left as it is, and each difference is named."""
    there = told("rows", broker__servers=broker, topics__partitions=3)
    client = topics.admin(there)
    _made(client, dataclasses.replace(topics.planned(there)[0], partitions=2, retention_ms=1000))

    rows = topics.create(there)[0]

    assert rows.state == "differs"
    assert rows.detail == "it has 2 partitions, planned 3; retention.ms is 1000, planned -1"
    assert topics.describe(there)[0] == rows


def test_describe_names_what_is_missing(told: Told, broker: str) -> None:
    """A planned topic that is not there is missing, and asking does not create it."""
    there = told("rows", broker__servers=broker)

    topics.describe(there)

    assert [state.state for state in topics.describe(there)] == ["missing"] * 3
    assert not [
        n for n in topics.existing(topics.admin(there)) if n.startswith(there.worker.prefix)
    ]


def test_describe_shows_what_a_pattern_matches(told: Told, broker: str) -> None:
    """A topic that only a pattern binds is described beside the planned ones."""
    there = told(r"rows\.(?P<tenant>[a-z]+)", broker__servers=broker)
    topics.create(there)
    _made(topics.admin(there), dataclasses.replace(topics.planned(there)[0], name=_acme(there)))

    states = {state.name: state.state for state in topics.describe(there)}

    assert states[_acme(there)] == "differs"
    assert len(states) == 3


def test_topic_ids_are_uuids_and_new_with_a_new_topic(told: Told, broker: str) -> None:
    """The id is the same at each asking, and another for a topic made again under its name."""
    there = told("rows", broker__servers=broker)
    name = topics.create(there)[0].name
    client = topics.admin(there)

    first, again = topics.topic_ids(client, [name]), topics.topic_ids(client, [name])
    client.delete_topics([name])[name].result()
    servers.wait_until(lambda: name not in topics.existing(client))
    topics.create(there)
    later = topics.topic_ids(client, [name])

    assert str(uuid.UUID(first[name])) == first[name]
    assert first == again
    assert first[name] != later[name]


def test_topic_ids_leave_out_what_is_not_there(told: Told, broker: str) -> None:
    """A name that no topic has gets no id, and is not created by asking."""
    client = topics.admin(told("rows", broker__servers=broker))
    name = f"nothing-{secrets.token_hex(4)}"

    assert topics.topic_ids(client, [name]) == {}
    assert topics.topic_ids(client, []) == {}
    assert name not in topics.existing(client)


def test_client_config_takes_the_options(told: Told) -> None:
    """Options reach the client as text under librdkafka's names, beside the servers."""
    file = told("rows", broker__servers="a:1").file
    file.write_text(
        '[broker]\nservers = "a:1"\n[broker.options]\n"socket.keepalive.enable" = true\n'
    )

    config = topics.client_config(settings.load(file))

    assert config == {"bootstrap.servers": "a:1", "socket.keepalive.enable": "true"}


def test_client_config_is_taken_by_a_producer(told: Told, broker: str) -> None:
    """A client made from it reaches the broker."""
    there = told("rows", broker__servers=broker)
    name = topics.create(there)[0].name

    producer = Producer(topics.client_config(there))
    producer.produce(name, b"{}")

    assert producer.flush(10) == 0


def test_no_broker_is_told(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that does not answer, or an embedded one that does not run, is missing."""
    monkeypatch.setattr(topics, "_SECONDS", 1)
    away = told("rows", broker__servers=f"127.0.0.1:{servers.free_port()}")
    embedded = told("rows", graph__data=away.file.parent / "data")

    with pytest.raises(ServerMissing, match=r"no Kafka broker answers at 127\.0\.0\.1"):
        topics.create(away)
    with pytest.raises(ServerMissing, match="no broker runs for the data folder"):
        topics.create(embedded)


def test_a_name_is_read_by_its_source(told: Told) -> None:
    """Of the topics that exist, those that a source names are read, and no other."""
    there = told("rows", "rows.late")
    prefix = there.worker.prefix

    read = topics.resolve(there, [f"{prefix}rows", f"{prefix}other", "rows", f"{prefix}receipts"])

    assert {name: source.topic for name, (source, _) in read.items()} == {f"{prefix}rows": "rows"}


def test_a_pattern_reads_what_it_matches(told: Told) -> None:
    """A pattern reads each topic that it fits as a whole, with what its groups matched."""
    there = told(r"rows\.(?P<tenant>[a-z]+)(?:\.(?P<part>\d))?")
    prefix = there.worker.prefix

    read = topics.resolve(there, [f"{prefix}rows.acme", f"{prefix}rows.acme.1", f"{prefix}rows.A"])

    assert {name: dict(groups) for name, (_, groups) in read.items()} == {
        f"{prefix}rows.acme": {"tenant": "acme", "part": ""},
        f"{prefix}rows.acme.1": {"tenant": "acme", "part": "1"},
    }


def test_a_pattern_never_reads_what_the_worker_writes(told: Told) -> None:
    """Receipts and dead letters are not read as input, whatever a pattern fits."""
    there = told(".+")
    prefix = there.worker.prefix

    read = topics.resolve(there, [f"{prefix}receipts", f"{prefix}dead-letters", f"{prefix}rows"])

    assert list(read) == [f"{prefix}rows"]


def test_a_name_wins_over_a_pattern(told: Told) -> None:
    """A topic that is bound by name and fits a pattern belongs to the name."""
    there = told(r"rows\.(?P<tenant>[a-z]+)", "rows.acme")
    name = f"{there.worker.prefix}rows.acme"

    source, groups = topics.resolve(there, [name])[name]

    assert source.topic == "rows.acme"
    assert groups == {}


def test_two_patterns_for_one_topic_are_refused(told: Told) -> None:
    """Which of two patterns counts would be chance; a topic that only one fits does no harm."""
    there = told(r"rows\.(?P<tenant>[a-z]+)", r"rows\.a.*")
    prefix = there.worker.prefix

    with pytest.raises(SettingsError, match=r"rows\.acme is matched by .* and .*; allowed: one"):
        topics.resolve(there, [f"{prefix}rows.acme"])
    assert topics.resolve(there, [f"{prefix}rows.bolt"])


def _acme(told: Settings) -> str:
    return topics.full(told, "rows.acme")


def _made(client: Any, topic: topics.Topic) -> None:
    new = NewTopic(topic.name, topic.partitions, 1, config=topic.config())
    client.create_topics([new])[topic.name].result()
    servers.wait_until(lambda: topic.name in topics.existing(client))
