"""What does the demo do: publish the sample, wait for each receipt, gather what there is to see?"""

import contextlib
import json
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams import dead_letters, feed, mapping, offsets, publish, receipts, status, topics
from streams.dead_letters import DeadLetter
from streams.errors import ServerMissing, UsageError
from streams.events import REFUSED
from streams.settings import Settings

DATA = Path(__file__).with_name("demo_data")
SAMPLE, COLUMNS = DATA / "flights.csv.gz", DATA / "flights.toml"
#: The plane whose history is shown, and the moment at which it is looked for.
PLANE, MOMENT = "N13975", "2013-03-09T18:30:00Z"
#: Seconds without a receipt after which the demo gives up. A join to the group takes seven at most.
PATIENCE_SECONDS = 60.0
#: States of a consumer group in which nobody reads, and seconds between two looks at it.
IDLE, LOOK_SECONDS = ("none", "empty", "dead"), 5.0
#: Lines of the worker's log shown when it ended early.
LOG_LINES = 8

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Refused:
    """Dead letters that have reason and cause in common: how many, and one of them."""

    count: int
    example: DeadLetter


@dataclass(slots=True)
class Answers:
    """What came back for the records of one run, by (partition, offset)."""

    sent: set[Place] = field(default_factory=set)
    receipts: dict[Place, dict[str, Any]] = field(default_factory=dict)

    def statuses(self) -> list[tuple[str, int]]:
        """Count the receipts by status, the most frequent first."""
        return Counter(receipt["status"] for receipt in self.receipts.values()).most_common()

    def late(self, key: str) -> int:
        """Count the rows of one entity that came late and took their place in its history."""
        found = [r for r in self.receipts.values() if r["key"] == key]
        return sum(receipt["status"] == "inserted" for receipt in found)


def suited(settings: Settings) -> mapping.Mapping:
    """Give the sample's mapping, once the settings know its kind.

    Raises UsageError when they do not: somebody's own settings, in whose folder the demo was run.
    """
    columns = mapping.build(mapping.load(COLUMNS))
    kind = settings.kinds.get(columns.kind)
    if kind is None or not set(columns.relations) <= set(kind.relations):
        relations = ", ".join(columns.relations)
        raise UsageError(
            f"{settings.file} declares no kind {columns.kind} with the relations {relations}: run "
            "the demo in a folder without lighthouse.toml, or write one with `init`"
        )
    return columns


@contextlib.contextmanager
def worker(command: list[str], log: Path) -> Iterator[Callable[[], None]]:
    """Run a worker beside this process; gives a function that raises ServerMissing if it ended."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

        def alive() -> None:
            if process.poll() is not None:
                last = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
                raise ServerMissing(f"the worker ended ({process.returncode}); {log} says:\n{last}")

        try:
            yield alive
        finally:
            process.send_signal(signal.SIGTERM)
            _ended(process)


def worked_on(settings: Settings) -> bool:
    """Say whether a worker has joined the group, or is about to."""
    state, _ = status.group_of(topics.admin(settings), settings.worker.group)
    return state not in IDLE


def other_worker(settings: Settings) -> Callable[[], None]:
    """Give a function that raises ServerMissing once the worker that ran already has gone."""
    looked = time.monotonic()

    def alive() -> None:
        nonlocal looked
        if time.monotonic() - looked > LOOK_SECONDS:
            looked = time.monotonic()
            if not worked_on(settings):
                raise ServerMissing("the worker that ran has gone: run the demo again")

    return alive


class Watch:
    """Read the receipts that come after the watch began, and the dead letters that go with them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = topics.client_config(settings)
        self._rows = topics.full(settings, "rows")
        with self._reader() as consumer:
            name = topics.full(settings, topics.RECEIPTS)
            self._receipts = offsets.ends(consumer, offsets.partitions(consumer, [name]))

    def publish(
        self, columns: mapping.Mapping, stored: Callable[[int, int], None]
    ) -> tuple[Answers, publish.Result]:
        """Publish the sample. `stored` is told how many the broker has, and how far the file is."""
        answers, largest = Answers(), self._settings.topics.max_record_bytes
        producer = publish.connect(self._client, self._rows, largest)
        at = 0

        def taken(message: Any) -> None:
            answers.sent.add((message.partition(), message.offset()))
            stored(len(answers.sent), at)

        def followed(records: Iterable[publish.Outgoing]) -> Iterator[publish.Outgoing]:
            nonlocal at
            for record in records:
                at = record.position
                yield record

        with feed.opened(SAMPLE) as opened:
            held = mapping.checked(columns, opened.columns)
            records = followed(publish.outgoing(opened, held))
            result = publish.send(producer, self._rows, records, max_bytes=largest, stored=taken)
        return answers, result

    def wait(
        self, answers: Answers, alive: Callable[[], None], seen: Callable[[int], None]
    ) -> None:
        """Wait until each record has its receipt; `seen` is told how many have.

        Raises ServerMissing when no receipt comes for PATIENCE_SECONDS, or as `alive` does.
        """
        with self._reader() as consumer:
            heard = time.monotonic()
            for messages in offsets.since(consumer, self._receipts):
                before = len(answers.receipts)
                for message in messages:
                    keep(answers, json.loads(message.value()), self._rows)
                if len(answers.receipts) == len(answers.sent):
                    return
                if len(answers.receipts) > before:
                    heard = time.monotonic()
                    seen(len(answers.receipts))
                alive()
                if time.monotonic() - heard > PATIENCE_SECONDS:
                    raise ServerMissing(_silent(answers))

    def refused(self, answers: Answers) -> list[Refused]:
        """Give the dead letters of the refused records, grouped by what they have in common."""
        places = {
            receipts.identity(receipt)
            for receipt in answers.receipts.values()
            if receipt["status"] in REFUSED
        }
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            letters = [each for each in dead_letters.read(self._settings) if _of(each) in places]
            if len(letters) >= len(places) or time.monotonic() > deadline:
                return grouped(letters)

    def _reader(self) -> Any:
        return offsets.reader(self._client, f"{self._settings.worker.group}-demo")


def grouped(letters: Iterable[DeadLetter]) -> list[Refused]:
    """Group dead letters by reason and by the words of their detail, the largest group first."""
    groups: dict[tuple[str, str], list[DeadLetter]] = {}
    for letter in letters:
        # What is quoted, and each number, differs from row to row; the words around do not.
        words = re.sub(r"'[^']*'|\d+", "…", letter.error.get("detail", ""))
        groups.setdefault((letter.reason, words), []).append(letter)
    found = [Refused(len(members), members[0]) for members in groups.values()]
    return sorted(found, key=lambda group: -group.count)


def keep(answers: Answers, receipt: dict[str, Any], topic: str) -> None:
    """Keep the receipt of a record of this run: the first, or a stored one after a refused one."""
    place = (receipt["partition"], receipt["offset"])
    if receipt["topic"] == topic and place in answers.sent:
        kept = answers.receipts.get(place)
        if kept is None or (kept["status"] in REFUSED and receipt["status"] not in REFUSED):
            answers.receipts[place] = receipt


def _of(letter: DeadLetter) -> receipts.Identity:
    error = letter.error
    place = int(error["partition"]), int(error["offset"])
    return error["topic"], error["topic-id"], *place


def _silent(answers: Answers) -> str:
    missing = len(answers.sent) - len(answers.receipts)
    return (
        f"{missing:,} records have no receipt after {PATIENCE_SECONDS:.0f} s without any: "
        "is the database there? `lighthouse-streams status` and `check` tell more"
    )


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
