"""What does a topic hold, from its beginning to its end, and what comes after?"""

from collections.abc import Iterator
from time import monotonic
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition

from streams import offsets
from streams.errors import ServerMissing

#: Seconds without an answer about a partition after which the broker counts as gone.
_SILENT_SECONDS = 15.0
#: Records taken from the client at a time, and seconds to wait for them.
_AT_A_TIME, _WAIT_SECONDS = 1000, 0.25
_GROUP = "lighthouse-reader"


def records(client: dict[str, Any], topic: str, follow: bool = False) -> Iterator[Message]:
    """Give every record that a topic holds, each partition in its order, to the end as it is met.

    The end is where the broker's answers to fetches say it is, never a listed offset, which Tansu
    gives wrong. With `follow` it goes on for ever with what comes. Raises ServerMissing.
    """
    with offsets.reader(client, _GROUP) as consumer:
        places = offsets.partitions(consumer, [topic])
        consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
        open_places, heard = set(places), monotonic()
        while follow or open_places:
            for message in consumer.consume(_AT_A_TIME, _WAIT_SECONDS):
                heard = monotonic()
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_places.discard((message.topic(), message.partition()))
                elif not error.retriable():
                    raise KafkaException(error)
            if not follow and monotonic() - heard > _SILENT_SECONDS:
                raise ServerMissing(f"the broker does not answer for the topic {topic}")
