"""What the reader hands to the worker: a slice of one partition, and the event that brought it."""

from dataclasses import dataclass
from typing import Any

from streams.acknowledge import Delivery
from streams.events import Record


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of one partition, in offset order, as the broker gave it."""

    topic: str
    partition: int
    raw: tuple[Any, ...]
    delivery: Delivery

    def __len__(self) -> int:
        return len(self.raw)

    def records(self, topic_id: str) -> list[Record]:
        """Make the worker's records of the raw ones; `topic_id` is the broker's id of the topic."""
        return [
            Record(
                r.topic,
                topic_id,
                r.partition,
                r.offset,
                -1 if r.timestamp is None else r.timestamp,
                r.key,
                r.value,
                tuple(r.headers),
            )
            for r in self.raw
        ]


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk with the event that brought it, as it goes through the worker."""

    event: Any

    @property
    def topic(self) -> str:
        """The topic's full name."""
        return self.event.value.topic

    def records(self, topic_id: str) -> list[Record]:
        """Make the worker's records; `topic_id` is the broker's id of the topic."""
        return self.event.value.records(topic_id)

    def count(self) -> int:
        """Count its records."""
        return len(self.event.value.raw)

    def size(self) -> int:
        """Give the bytes of its values."""
        return sum(len(raw.value) for raw in self.event.value.raw if raw.value is not None)

    def era(self) -> int:
        """Tell the generation of the group that it was read under."""
        return self.event.message.generation_id

    def acknowledge(self) -> None:
        """Let the offset move over it: effects are stored, receipts are with the broker."""
        self.event.app.consumer.progress.acknowledge(self.event.value.delivery)
        self.event.ack()

    def let_go(self) -> None:
        """Let go of it without moving the offset: it will be delivered again."""
        self.event.ack()
