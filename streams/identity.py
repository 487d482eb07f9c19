"""Which topic is this one? Names come back when a topic is made again; the broker's ids do not."""

import threading
from collections.abc import Callable, Iterable

from streams.errors import StreamsError

#: Answers with the ids of those of the topics that are there.
AskIds = Callable[[Iterable[str]], dict[str, str]]


class TopicReplaced(StreamsError):
    """A topic that is being read is not the one it was.

    Its offsets begin anew and mean other records, so nothing of it may be taken for done. Start the
    worker again; where the broker was restarted without its records, they are gone.
    """

    exit_code = 3


class TopicIds:
    """The ids of topics, asked for once after each assignment of partitions.

    May be used by several threads.
    """

    def __init__(self, ask: AskIds) -> None:
        self._ask = ask
        self._seen: dict[str, str] = {}
        self._fresh: set[str] = set()
        self._lock = threading.Lock()

    def of(self, topic: str) -> str:
        """Give the id of a topic.

        Raises TopicReplaced when it had another one before in this process, or is gone;
        ServerMissing and what the client raises when the broker does not answer.
        """
        with self._lock:
            if topic in self._fresh:
                return self._seen[topic]
        self.check([topic])
        with self._lock:
            if topic not in self._seen:
                raise TopicReplaced(f"the topic {topic} is not there any more, or has no id")
            self._fresh.add(topic)
            return self._seen[topic]

    def check(self, topics: Iterable[str]) -> None:
        """Compare topics with what they were; one not seen before is noted.

        A topic that is gone is no difference. Raises as `of` does.
        """
        asked = list(topics)
        found = self._ask(asked)
        with self._lock:
            for topic, topic_id in found.items():
                before = self._seen.setdefault(topic, topic_id)
                if before != topic_id:
                    raise TopicReplaced(
                        f"the topic {topic} was made again: its id was {before} and is {topic_id}."
                        " Was the broker restarted without its records? Start the worker again",
                        topic=topic,
                    )
            if self._seen and asked and not found:
                raise TopicReplaced(
                    "the broker has none of the topics any more: was it restarted without its"
                    " records? Make the topics again, then start the worker",
                )

    def forget(self) -> None:
        """Ask again on next use: partitions were assigned anew."""
        with self._lock:
            self._fresh.clear()
