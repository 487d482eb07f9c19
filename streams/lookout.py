"""Are the servers there and as they must be, and which topics are there to read?"""

import logging
import threading
from collections.abc import Iterable
from typing import Any

from streams import embedded, topics
from streams.check import WARN, Finding, graph_findings, refused
from streams.errors import StreamsError
from streams.identity import TopicIds
from streams.pressure import Abandoned, Pressure
from streams.rows import BROKER, Answers
from streams.rows import OUTAGES as BROKER_OUTAGES
from streams.settings import Settings
from streams.write import DATABASE
from streams.write import OUTAGES as DATABASE_OUTAGES

log = logging.getLogger("streams.lookout")

#: Seconds between two looks at the servers; the topics are looked at each so many times (30 s).
LOOK_SECONDS, LOOKS_FOR_TOPICS = 5.0, 6


class Servers:
    """The servers of the settings. A look waits, under `pressure`, while one of them is away.

    `answers` names the topics that the worker writes, `ids` knows those that were seen.
    """

    def __init__(self, settings: Settings, pressure: Pressure) -> None:
        self._settings, self._pressure = settings, pressure
        self._admin: Any = None
        self._looks = 0
        self.ids = TopicIds(self._ask_ids)
        self.answers = Answers(
            topics.full(settings, topics.RECEIPTS), topics.full(settings, topics.DEAD_LETTERS)
        )

    def check(self) -> None:
        """See before the start that the servers are as they must be, waiting for those away.

        An embedded server that does not run is not waited for: nobody is about to start it. Raises
        ServerMissing then, StreamsError where the graph's server is not set for the work or a topic
        for the answers is missing, Abandoned when the wait is given up.
        """
        if embedded.addresses(self._settings).graph is None:
            embedded.connect(self._settings)
        embedded.broker_servers(self._settings)
        findings = self._pressure.until_done(DATABASE, self._graph_findings, DATABASE_OUTAGES)
        for found in findings:
            if found.level == WARN:
                log.warning("%s: %s; %s", found.about, found.found, found.advice)
        if wrong := refused(findings):
            told = "; ".join(f"{each.about} {each.found}: {each.advice}" for each in wrong)
            raise StreamsError(f"the graph's server is not set for this work: {told}")
        there = self._pressure.until_done(BROKER, self._existing, BROKER_OUTAGES)
        for name in (self.answers.receipts, self.answers.dead_letters):
            if name not in there:
                advice = "make it with `lighthouse-streams topics create`"
                raise StreamsError(f"the topic {name} is not there: {advice}", topic=name)

    def names(self, stopped: threading.Event) -> list[str]:
        """Wait until there is a topic to read; give the names of all.

        Raises Abandoned when `stopped` is set meanwhile.
        """
        told = False
        while True:
            there = self._pressure.until_done(BROKER, self._existing, BROKER_OUTAGES)
            if names := list(topics.resolve(self._settings, there)):
                return names
            if not told:
                log.warning("no source of %s has a topic yet: waiting", self._settings.file)
                told = True
            if stopped.wait(LOOK_SECONDS):
                raise Abandoned

    def look(self, read: list[str]) -> list[str]:
        """See whether the servers answer and the topics are what they were.

        `read` are the topics that are read now; returns those to read, now and then, else nothing.
        Raises TopicReplaced and Abandoned.
        """
        # A server that a stage waits for answers a look perhaps, and still takes no rows.
        down = self._pressure.down()
        if DATABASE not in down:
            self._pressure.until_done(DATABASE, self._ping, DATABASE_OUTAGES)
        if BROKER in down:
            return []
        there = self._pressure.until_done(BROKER, self._existing, BROKER_OUTAGES)
        self._looks += 1
        if self._looks % LOOKS_FOR_TOPICS:
            return []
        seen = [*read, self.answers.receipts, self.answers.dead_letters]
        self._pressure.until_done(BROKER, lambda: self.ids.check(seen), BROKER_OUTAGES)
        return list(topics.resolve(self._settings, there))

    def _graph_findings(self) -> list[Finding]:
        db = embedded.connect(self._settings)
        try:
            return graph_findings(db, self._settings.graph.allow_loss)
        finally:
            db.connection.close()

    def _ping(self) -> None:
        db = embedded.connect(self._settings)
        try:
            db.connection.ping()
        finally:
            db.connection.close()

    def _existing(self) -> frozenset[str]:
        return topics.existing(self._client())

    def _ask_ids(self, names: Iterable[str]) -> dict[str, str]:
        return topics.topic_ids(self._client(), names)

    def _client(self) -> Any:
        if self._admin is None:
            self._admin = topics.admin(self._settings)
        return self._admin
