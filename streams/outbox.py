"""How is a lot of records sent so that every one of them is known to be with the broker?"""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

log = logging.getLogger("streams.outbox")

#: Milliseconds until a record that the broker did not acknowledge is reported as failed; then the
#: whole lot is sent again. Short, so that a stop during an outage is noticed within its grace.
MESSAGE_TIMEOUT_MS = 5_000
#: Milliseconds between two tries to reach a broker that is away, at most.
RECONNECT_MS = 1_000
#: Milliseconds a record waits for others to share a request with.
LINGER_MS = 2
#: Bytes of the largest record this client sends: far above what brokers take, so that they decide.
LARGEST_BYTES = 256 * 1024 * 1024

_TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)

Headers = list[tuple[str, str | bytes | None]]


class Letter(NamedTuple):
    """A record to send."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers | None = None


class Undelivered(Exception):
    """The broker has not acknowledged every record of a lot; the lot may be sent again."""


class Outbox:
    """A producer that sends lots of records and answers when all of one lot are acknowledged.

    Not idempotent: librdkafka's idempotent producer does not recover from an outage that outlasts a
    short message timeout. Records may therefore arrive twice. Partitions are chosen by the key as
    Java clients do. Used from one thread.
    """

    def __init__(self, client: dict[str, Any]) -> None:
        self._producer = Producer(
            client
            | {
                "acks": "all",
                "enable.idempotence": False,
                "partitioner": "murmur2_random",
                "linger.ms": LINGER_MS,
                "message.timeout.ms": MESSAGE_TIMEOUT_MS,
                "message.max.bytes": LARGEST_BYTES,
                "reconnect.backoff.max.ms": RECONNECT_MS,
                "delivery.report.only.error": True,
                "log_level": 0,
                "error_cb": lambda error: log.debug("the broker's client says: %s", error),
            }
        )

    def send(self, letters: Sequence[Letter]) -> list[Letter]:
        """Send a lot and wait until the broker has acknowledged every record of it.

        Returns the letters that the broker refuses for their size, each tried alone; all others are
        acknowledged. Raises Undelivered when any failed for another cause: send the lot again.
        """
        if not self._refused(letters):
            return []
        return [letter for letter in letters if self._refused([letter])]

    def close(self) -> None:
        """Give up what is still queued and free the client."""
        self._producer.purge()
        self._producer.flush(1)
        self._producer.close()

    def _refused(self, letters: Sequence[Letter]) -> bool:
        """Send letters; say whether the broker found one, or a request of several, too large."""
        errors: list[KafkaError] = []
        for letter in letters:
            self._produce(letter, errors)
        left = self._producer.flush(2 * MESSAGE_TIMEOUT_MS / 1000)
        others = [error for error in errors if error.code() not in _TOO_LARGE]
        if others or left:
            raise Undelivered(others[0].str() if others else f"no answer for {left} records")
        return bool(errors)

    def _produce(self, letter: Letter, errors: list[KafkaError]) -> None:
        def failed(error: KafkaError | None, _: Any) -> None:
            errors.extend([error] if error else [])

        try:
            self._producer.produce(
                letter.topic, letter.value, letter.key, on_delivery=failed, headers=letter.headers
            )
        except BufferError as error:
            self._producer.flush(MESSAGE_TIMEOUT_MS / 1000)
            raise Undelivered("the client's queue is full") from error
        except KafkaException as error:
            errors.append(error.args[0])
