"""What becomes of a refused record? Its bytes are kept, with the reason beside them, and read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Message

from streams import contracts, reading, topics
from streams.events import REFUSED, Outcome, Refusal
from streams.explanations import EXPLANATIONS, detail
from streams.outbox import Headers, Letter
from streams.settings import Settings

#: Most characters of `error-detail`.
LONGEST_DETAIL = 2_000
#: Most characters of a kind or a key in a header.
_LONGEST_NAME = 500
#: Counting attempts ends here: a header may say anything.
_MOST_ATTEMPTS, _DIGITS = 999_999, 9
#: What `error-value` says where the broker took no letter with the value in it.
AT_SOURCE = "at-source"

#: The headers that are ours; one that the record brought along is replaced.
HEADERS = tuple(
    f"error-{name}"
    for name in (
        "reason detail topic topic-id partition offset timestamp kind key by graph attempts"
        " first-at contract value"
    ).split()
)
_OURS = frozenset(HEADERS)


def is_refused(answer: Outcome | Refusal) -> bool:
    """Say whether a record gets a dead letter beside its receipt."""
    return isinstance(answer, Refusal) or answer.status in REFUSED


def letter(topic: str, answer: Outcome | Refusal, now: datetime) -> Letter:
    """Make the dead letter of a refused record: its key and bytes, its headers and ours.

    A record that was a dead letter before, and was sent in again, keeps when it was refused first.
    """
    record = answer.record
    before = dict(record.headers)
    own: Headers = [(_text(name), value) for name, value in record.headers if name not in _OURS]
    stated = {
        "reason": answer.reason if isinstance(answer, Refusal) else answer.status,
        "detail": detail(answer)[:LONGEST_DETAIL],
        "topic": record.topic,
        "topic-id": record.topic_id,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "timestamp": str(record.timestamp),
        "kind": _short(answer.kind),
        "key": _short(answer.key),
        "by": answer.by,
        "graph": answer.graph,
        "attempts": str(_attempts(before) + 1),
        "first-at": _first_at(before) or _iso(now),
        "contract": contracts.contract("rows").version,
    }
    ours: Headers = [
        (f"error-{name}", text.encode(errors="backslashreplace"))
        for name, text in stated.items()
        if text is not None
    ]
    return Letter(topic, record.key, record.value, own + ours)


def smaller(letter: Letter) -> Letter | None:
    """Make a dead letter that the broker refused for its size smaller.

    First without the value, which `error-value` says is at the source; then without the record's
    own headers; then without its key. Returns None when nothing is left to take away.
    """
    headers = letter.headers or []
    if not any(name == "error-value" for name, _ in headers):
        return letter._replace(value=b"", headers=[*headers, ("error-value", AT_SOURCE.encode())])
    ours = [header for header in headers if header[0] in _OURS]
    if len(ours) < len(headers):
        return letter._replace(headers=ours)
    return letter._replace(key=None) if letter.key is not None else None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused record as a person looks at it.

    `partition` and `offset` are where it stands on the topic of dead letters, `timestamp` when it
    was put there (milliseconds since 1970). `error` holds our headers without the prefix `error-`.
    """

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    error: Mapping[str, str]
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def reason(self) -> str:
        """Why it was refused, in one word."""
        return self.error.get("reason", "")

    @property
    def place(self) -> str:
        """Where the refused record stands: topic/partition/offset."""
        return "/".join(self.error.get(name, "?") for name in ("topic", "partition", "offset"))

    def text(self) -> str | None:
        """Give the value as text; what is no text is shown as escapes."""
        return None if self.value is None else self.value.decode(errors="backslashreplace")

    def hex(self) -> str | None:
        """Give the value's bytes in hexadecimal."""
        return None if self.value is None else self.value.hex(" ")

    def advice(self) -> str:
        """Say what the reason means, and what to do."""
        explained = EXPLANATIONS.get(self.reason)
        if explained is None:
            return "the letter names no reason that this version knows"
        meaning = explained.meaning[0].upper() + explained.meaning[1:]
        return f"{meaning}. What to do: {explained.advice}."


@dataclass(slots=True)
class Group:
    """Dead letters of one reason, topic and kind; times in milliseconds since 1970."""

    reason: str
    topic: str
    kind: str | None
    oldest: int
    newest: int
    example: DeadLetter = field(repr=False)
    count: int = 0


def read(settings: Settings, follow: bool = False) -> Iterator[DeadLetter]:
    """Read the dead letters, those of one record once; with `follow` also those that come.

    Raises ServerMissing.
    """
    name = topics.full(settings, topics.DEAD_LETTERS)
    seen: set[tuple[str | None, ...]] = set()
    for message in reading.records(topics.client_config(settings), name, follow):
        found = _found(message)
        identity = tuple(
            found.error.get(part) for part in ("topic", "topic-id", "partition", "offset")
        )
        if None in identity or identity not in seen:
            seen.add(identity)
            yield found


def listing(settings: Settings) -> list[Group]:
    """Group the dead letters by reason, topic and kind, the largest group first.

    Raises ServerMissing.
    """
    return grouped(read(settings))


def grouped(letters: Iterable[DeadLetter]) -> list[Group]:
    """Group dead letters by reason, topic and kind, the largest group first."""
    groups: dict[tuple[str, str, str | None], Group] = {}
    for each in letters:
        named = (each.reason, each.error.get("topic", ""), each.error.get("kind"))
        group = groups.get(named)
        if group is None:
            group = groups[named] = Group(*named, each.timestamp, each.timestamp, each)
        group.count += 1
        group.oldest = min(group.oldest, each.timestamp)
        group.newest = max(group.newest, each.timestamp)
    return sorted(groups.values(), key=lambda group: (-group.count, group.reason, group.topic))


def show(
    settings: Settings, partition: int, offset: int, topic: str | None = None
) -> DeadLetter | None:
    """Find one dead letter, by where the refused record stands: its topic, partition and offset.

    Without `topic` the place is that on the topic of dead letters itself. Of several with one place
    (a topic that was made again) the latest is given; None when there is none. Raises
    ServerMissing.
    """
    found = None
    for each in read(settings):
        place = (each.error.get("topic"), each.error.get("partition"), each.error.get("offset"))
        by_source = topic is not None and place == (topic, str(partition), str(offset))
        if by_source or (topic is None and (each.partition, each.offset) == (partition, offset)):
            found = each
    return found


def _found(message: Message) -> DeadLetter:
    headers: Any = message.headers() or []
    error = {
        name.removeprefix("error-"): (value or b"").decode(errors="replace")
        for name, value in headers
        if name in _OURS
    }
    own = tuple((name, value) for name, value in headers if name not in _OURS)
    return DeadLetter(
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        error,
        own,
    )


def _text(name: str) -> str:
    """Show the bytes of a header's name that are no text: Kafka's clients take only text there."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _short(name: str | int | None) -> str | None:
    return None if name is None else str(name)[:_LONGEST_NAME]


def _attempts(headers: Mapping[str, bytes | None]) -> int:
    text = headers.get("error-attempts") or b""
    return min(int(text[:_DIGITS]), _MOST_ATTEMPTS) if text.isdigit() else 0


def _first_at(headers: Mapping[str, bytes | None]) -> str | None:
    try:
        text = (headers.get("error-first-at") or b"").decode("ascii")
        return _iso(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _iso(moment: datetime) -> str:
    utc = moment.astimezone(UTC) if moment.tzinfo else moment
    return utc.replace(tzinfo=None, microsecond=0).isoformat()
