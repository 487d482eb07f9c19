"""What does the worker do with a batch of row records: decode and route, write, answer."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Protocol

from confluent_kafka import KafkaException

from streams import batch, dead_letters, decode, receipts
from streams.batch import Call
from streams.errors import ServerMissing
from streams.events import Outcome, Record, Refusal, Routed, Row
from streams.identity import TopicIds
from streams.measures import Measures
from streams.outbox import Letter, Outbox, Undelivered
from streams.pressure import Pressure
from streams.route import Router
from streams.write import Writer

log = logging.getLogger("streams.rows")

#: What the log and readiness call Kafka.
BROKER = "the broker"
#: What is waited for instead of losing an answer.
OUTAGES = (Undelivered, ServerMissing, KafkaException)

Answer = Outcome | Refusal


class Slice(Protocol):
    """Some records of one partition."""

    @property
    def topic(self) -> str:
        """The topic's full name."""

    def records(self, topic_id: str) -> list[Record]:
        """Give the records in offset order."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch ready to be written: what was refused before, and the calls for the rest."""

    refusals: list[Refusal]
    calls: list[Call]


@dataclass(frozen=True, slots=True)
class Answers:
    """The full names of the topics that answers go to."""

    receipts: str
    dead_letters: str


class RowStages:
    """The three stages of the rows agent, each called from one thread, batch after batch.

    `max_record_bytes`: the largest value that is taken.
    """

    def __init__(
        self,
        *,
        ids: TopicIds,
        router: Router,
        writer: Writer,
        outbox: Outbox,
        answers: Answers,
        pressure: Pressure,
        measures: Measures,
        max_record_bytes: int,
    ) -> None:
        self._ids, self._router, self._writer, self._outbox = ids, router, writer, outbox
        self._answers, self._pressure, self._measures = answers, pressure, measures
        self._max_record_bytes = max_record_bytes

    def prepare(self, slices: Sequence[Slice]) -> Prepared:
        """Decode and route the records of slices, and lay the rows into calls.

        Raises Abandoned when the broker is away and the wait for a topic's id is given up, and
        TopicReplaced when a topic is not the one it was.
        """
        refusals: list[Refusal] = []
        rows: list[Routed] = []
        off_key: list[str] = []
        for each in slices:
            for record in each.records(self._id_of(each.topic)):
                answer = self._routed(record, off_key)
                if isinstance(answer, Routed):
                    rows.append(answer)
                else:
                    refusals.append(answer)
        if off_key:
            self._measures.off_key(off_key)
        return Prepared(refusals, batch.calls(rows))

    def write(self, prepared: Prepared) -> list[Answer]:
        """Write the calls; give an answer for each record of the batch. Raises Abandoned."""
        started = monotonic()
        outcomes = self._writer.write(prepared.calls)
        if outcomes:
            self._measures.written(len(outcomes), monotonic() - started)
        return [*prepared.refusals, *outcomes]

    def answer(self, answers: Sequence[Answer]) -> None:
        """Send receipts and dead letters until the broker has every one. Raises Abandoned."""
        now = datetime.now(UTC)
        refused = [each for each in answers if dead_letters.is_refused(each)]
        letters = [dead_letters.letter(self._answers.dead_letters, each, now) for each in refused]
        letters += [receipts.letter(self._answers.receipts, each) for each in answers]
        while letters:
            too_large = self._pressure.until_done(
                BROKER, partial(self._outbox.send, letters), OUTAGES
            )
            letters = [small for each in too_large if (small := self._smaller(each))]
        self._measures.answered(
            ((each.record.topic, _status(each)) for each in answers), map(_status, refused)
        )

    def _id_of(self, topic: str) -> str:
        return self._pressure.until_done(BROKER, partial(self._ids.of, topic), OUTAGES)

    def _routed(self, record: Record, off_key: list[str]) -> Routed | Refusal:
        row = decode.decode(record, self._max_record_bytes)
        if isinstance(row, Row):
            if decode.off_key(record, row):
                off_key.append(record.topic)
            return self._router.route(row)
        return self._router.attribute(row)

    def _smaller(self, letter: Letter) -> Letter | None:
        is_receipt = letter.topic == self._answers.receipts
        small = receipts.smaller(letter) if is_receipt else dead_letters.smaller(letter)
        if small is None:
            log.error("%s takes no answer as small as one can be: it is left out", letter.topic)
        return small


def _status(answer: Answer) -> str:
    return answer.reason if isinstance(answer, Refusal) else answer.status
