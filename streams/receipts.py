"""What do we answer for a record, and how do consumers read the answers?"""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from streams import reading, topics
from streams.events import REFUSED, Outcome, Refusal
from streams.outbox import Letter
from streams.settings import Settings

#: Most characters of the reason in a receipt; the dead letter has more.
LONGEST_REASON = 1_000
#: Most characters of a kind, a key or a time: what is longer is no name, and was refused for it.
_LONGEST_NAME = 500

Identity = tuple[str, str, int, int]


def letter(topic: str, answer: Outcome | Refusal) -> Letter:
    """Make the receipt for what became of a record, under that record's key."""
    record = answer.record
    receipt: dict[str, Any] = {
        "topic": record.topic,
        "topic_id": record.topic_id,
        "partition": record.partition,
        "offset": record.offset,
        "graph": answer.graph,
        "kind": answer.kind,
        "key": answer.key,
        "t": answer.t,
    }
    if isinstance(answer, Refusal):
        receipt |= {"status": answer.reason, "reason": answer.detail[:LONGEST_REASON]}
    else:
        receipt["status"] = answer.status
        if answer.reason:
            receipt["reason"] = answer.reason[:LONGEST_REASON]
        if answer.again:
            receipt["again"] = True
    return Letter(topic, record.key, _encoded(receipt))


def smaller(letter: Letter) -> Letter | None:
    """Make a receipt that is too large for the broker smaller: without reason, then without key.

    Returns None when nothing is left to take away.
    """
    receipt = orjson.loads(letter.value or b"{}")
    if receipt.pop("reason", None) is not None:
        return letter._replace(value=orjson.dumps(receipt))
    return letter._replace(key=None) if letter.key is not None else None


def identity(receipt: dict[str, Any]) -> Identity:
    """Return which record a receipt answers: topic, topic id, partition, offset."""
    return receipt["topic"], receipt["topic_id"], receipt["partition"], receipt["offset"]


def first_or_stored(receipts: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Pass on the first receipt of each record, and one that says stored after it was refused.

    Whoever keeps the last one passed on of each identity has the one receipt that counts. Holds the
    identities in memory, about 200 bytes each.
    """
    refused: dict[Identity, bool] = {}
    for receipt in receipts:
        record, is_refused = identity(receipt), receipt["status"] in REFUSED
        if record not in refused or (refused[record] and not is_refused):
            refused[record] = is_refused
            yield receipt


def read(settings: Settings, follow: bool = False) -> Iterator[dict[str, Any]]:
    """Read the receipts, those of one record once; with `follow` also those that come.

    Without `follow` each record has one receipt, in the order of the first. With it a record has a
    second one where it was refused first and a later delivery was stored. What is no receipt is
    left out. Raises ServerMissing.
    """
    name = topics.full(settings, topics.RECEIPTS)
    found = first_or_stored(_parsed(reading.records(topics.client_config(settings), name, follow)))
    if follow:
        return found
    return iter({identity(receipt): receipt for receipt in found}.values())


def _parsed(messages: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for message in messages:
        try:
            receipt = orjson.loads(message.value() or b"")
            identity(receipt)
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
        yield receipt


def _encoded(receipt: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(receipt)
    except TypeError:
        # A text with half a character, or a number beyond 64 bits: shown, not sent as it is.
        return orjson.dumps({name: _plain(value) for name, value in receipt.items()})


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    return str(value).encode(errors="backslashreplace").decode()
