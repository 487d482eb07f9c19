"""Which topics are there, and which are read? Names, partitions, retention; creates, checks."""

import base64
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from streams import embedded
from streams.bindings import OUTPUTS, Source
from streams.errors import ServerMissing, SettingsError, StreamsError
from streams.settings import Settings

RECEIPTS, DEAD_LETTERS = OUTPUTS
#: Bytes by which a dead letter may be larger than its record: the refusal stands in its headers.
DEAD_LETTER_ROOM = 64 * 1024

#: Seconds for one answer of the broker: a new broker makes its first topics within two.
_SECONDS = 15
_DAY_MS = 86_400_000
#: The id that a broker gives which knows none (before Kafka 2.8).
_NO_ID = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it should be; `retention_ms` -1 is without end."""

    name: str
    partitions: int
    replication: int
    cleanup: str
    retention_ms: int
    max_message_bytes: int

    def config(self) -> dict[str, str]:
        """Return its settings under Kafka's names."""
        return {
            "cleanup.policy": self.cleanup,
            "retention.ms": str(self.retention_ms),
            "max.message.bytes": str(self.max_message_bytes),
        }


@dataclass(frozen=True, slots=True)
class State:
    """A topic as it is: created, exists, differs or missing; `detail` says how it differs."""

    name: str
    state: str
    detail: str = ""
    topic_id: str | None = None
    partitions: int = 0


def full(settings: Settings, short: str) -> str:
    """Return a topic's full name: the prefix and the short name."""
    return settings.worker.prefix + short


def planned(settings: Settings) -> tuple[Topic, ...]:
    """Return the topics that should be: those of the sources bound by name, and our own two."""
    size = settings.topics.max_record_bytes
    inputs = [source.topic for source in settings.sources if source.pattern is None]
    days = settings.topics.receipts_days * _DAY_MS
    return (
        *(_topic(settings, short, -1, size) for short in inputs),
        _topic(settings, RECEIPTS, days, size),
        _topic(settings, DEAD_LETTERS, days, size + DEAD_LETTER_ROOM),
    )


def client_config(settings: Settings) -> dict[str, Any]:
    """Return the settings of a Kafka client under librdkafka's names.

    Raises ServerMissing when the embedded broker does not run.
    """
    options = {name: _option(value) for name, value in settings.broker.options.items()}
    return {"bootstrap.servers": embedded.broker_servers(settings), **options}


def admin(settings: Settings) -> AdminClient:
    """Return a Kafka admin client. Raises ServerMissing when no broker answers."""
    config = client_config(settings)
    client = AdminClient(config | {"log_level": 0})  # what it would log, its answers say
    _asked(config["bootstrap.servers"], lambda: client.list_topics(timeout=_SECONDS))
    return client


def create(settings: Settings) -> tuple[State, ...]:
    """Create the planned topics that are not there, and compare those that are; nothing is changed.

    Raises ServerMissing when no broker answers, SettingsError when it refuses the numbers of
    `[topics]`, StreamsError when it refuses otherwise.
    """
    client, wanted = admin(settings), planned(settings)
    new = [NewTopic(t.name, t.partitions, t.replication, config=t.config()) for t in wanted]
    made = {
        name: _made(name, future)
        for name, future in client.create_topics(new, operation_timeout=_SECONDS).items()
    }
    _await(client, [topic.name for topic in wanted])
    states = _states(client, wanted)
    return tuple(
        State(s.name, "created", "", s.topic_id, s.partitions) if made[s.name] else s
        for s in states
    )


def describe(settings: Settings) -> tuple[State, ...]:
    """Return the planned topics, and those that the sources' patterns match, as they are.

    Raises ServerMissing when no broker answers.
    """
    client, wanted = admin(settings), planned(settings)
    names = {topic.name for topic in wanted}
    size = settings.topics.max_record_bytes
    matched = [name for name in resolve(settings, existing(client)) if name not in names]
    inputs = [
        _topic(settings, name.removeprefix(settings.worker.prefix), -1, size) for name in matched
    ]
    return _states(client, (*wanted, *inputs))


def existing(client: AdminClient) -> frozenset[str]:
    """Return the names of all topics. Raises ServerMissing when the broker does not answer."""
    # Never asked for by name: Tansu makes a topic that metadata are asked of.
    return frozenset(_asked("", lambda: client.list_topics(timeout=_SECONDS)).topics)


def topic_ids(client: AdminClient, names: Iterable[str]) -> dict[str, str]:
    """Return the ids that the broker gave the topics at their creation, as UUID text.

    A name that is not there is left out, and so is every one where the broker gives no ids.
    """
    wanted = list(names)
    if not wanted:
        return {}
    found: dict[str, str] = {}
    for name, future in client.describe_topics(
        TopicCollection(wanted), request_timeout=_SECONDS
    ).items():
        try:
            topic_id = _uuid(str(future.result().topic_id))
        except KafkaException as error:
            _unless(error, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
            continue
        if topic_id != _NO_ID:
            found[name] = str(topic_id)
    return found


def resolve(
    settings: Settings, names: Iterable[str]
) -> dict[str, tuple[Source, Mapping[str, str]]]:
    """Return the topics that are read: the source of each, and what its pattern's groups matched.

    A source's name wins over patterns. Raises SettingsError when two patterns match one topic.
    """
    by_name = {full(settings, s.topic): s for s in settings.sources if s.pattern is None}
    own = {full(settings, short) for short in OUTPUTS}
    read: dict[str, tuple[Source, Mapping[str, str]]] = {}
    for name in sorted(set(names) - own):
        if name in by_name:
            read[name] = (by_name[name], {})
        elif matched := _matched(settings, name):
            read[name] = matched
    return read


def _topic(settings: Settings, short: str, retention_ms: int, size: int) -> Topic:
    told = settings.topics
    return Topic(
        full(settings, short), told.partitions, told.replication, "delete", retention_ms, size
    )


def _option(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _matched(settings: Settings, name: str) -> tuple[Source, Mapping[str, str]] | None:
    found = [
        (source, match.groupdict(""))
        for source in settings.sources
        if source.pattern is not None and (match := source.pattern.fullmatch(name))
    ]
    if len(found) > 1:
        topics = " and ".join(repr(source.topic) for source, _ in found)
        raise SettingsError(
            f"{settings.file}: sources: the topic {name} is matched by {topics}; allowed: one"
            " source for a topic: make the patterns narrower, or bind this topic by its name"
        )
    return found[0] if found else None


def _made(name: str, future: Future[None]) -> bool:
    try:
        future.result()
    except KafkaException as error:
        code = error.args[0].code()
        if code in (KafkaError.INVALID_PARTITIONS, KafkaError.INVALID_REPLICATION_FACTOR):
            raise SettingsError(
                f"topics: {name} cannot be created: {error.args[0].str()}"
            ) from error
        if code != KafkaError.TOPIC_ALREADY_EXISTS:
            raise StreamsError(
                f"{name} cannot be created: {error.args[0].str()}", topic=name
            ) from error
        return False
    return True


def _await(client: AdminClient, names: list[str]) -> None:
    # Kafka answers that a topic is created before its brokers tell clients of it.
    deadline = time.monotonic() + _SECONDS
    while True:
        there = _asked("", lambda: client.list_topics(timeout=_SECONDS)).topics
        if all(name in there and there[name].error is None for name in names):
            return
        if time.monotonic() > deadline:
            raise ServerMissing(f"the Kafka broker does not show new topics within {_SECONDS} s")
        time.sleep(0.05)


def _states(client: AdminClient, wanted: tuple[Topic, ...]) -> tuple[State, ...]:
    there = _asked("", lambda: client.list_topics(timeout=_SECONDS)).topics
    found = [topic for topic in wanted if topic.name in there]
    ids = topic_ids(client, [topic.name for topic in found])
    configs = _configs(client, [topic.name for topic in found])
    return tuple(
        _compared(
            topic, len(there[topic.name].partitions), configs[topic.name], ids.get(topic.name)
        )
        if topic.name in there
        else State(topic.name, "missing")
        for topic in wanted
    )


def _compared(
    topic: Topic, partitions: int, config: Mapping[str, str], topic_id: str | None
) -> State:
    differences = [
        f"{key} is {config.get(key, 'not set')}, planned {value}"
        for key, value in topic.config().items()
        if config.get(key) != value
    ]
    if partitions != topic.partitions:
        differences.insert(0, f"it has {partitions} partitions, planned {topic.partitions}")
    state = "differs" if differences else "exists"
    return State(topic.name, state, "; ".join(differences), topic_id, partitions)


def _configs(client: AdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    # Tansu lists only what was set explicitly; a key that is not listed counts as not set.
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    if not resources:
        return {}
    answers = client.describe_configs(resources, request_timeout=_SECONDS)
    return {
        resource.name: {key: entry.value for key, entry in _asked("", future.result).items()}
        for resource, future in answers.items()
    }


def _asked[Answer](servers: str, ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except KafkaException as error:
        place = f" at {servers}" if servers else ""
        raise ServerMissing(f"no Kafka broker answers{place}: {error.args[0].str()}") from error


def _unless(error: KafkaException, *codes: int) -> None:
    if error.args[0].code() not in codes:
        raise ServerMissing(
            f"the Kafka broker does not describe its topics: {error.args[0].str()}"
        ) from error


def _uuid(text: str) -> uuid.UUID:
    # librdkafka writes the 16 bytes in base64 without padding.
    return uuid.UUID(bytes=base64.b64decode(text.replace("-", "+").replace("_", "/") + "=="))
