"""What is done while a server is away, full, read-only or loading? Wait, say so once, go on."""

import logging
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

log = logging.getLogger("streams.pressure")

Answer = TypeVar("Answer")

#: Longest wait between two tries in seconds; each wait is a random part of a span that doubles.
LONGEST_WAIT_SECONDS = 5.0
#: The first span in seconds: a server that was only busy for a moment is asked again at once.
FIRST_WAIT_SECONDS = 0.2
#: How often a wait looks whether the work should be given up.
_LOOK_SECONDS = 0.1
#: Most characters of a server's message that go into the log.
_MESSAGE_CHARACTERS = 300


class Abandoned(Exception):
    """The work was given up undone, because a stop or a rebalance was asked for."""


class Pressure:
    """Run actions against servers that may be away, until they succeed or are to be given up.

    `give_up` says whether what is waiting should stop trying. `on_retry(server)` is called for each
    try that failed. May be used by several threads.
    """

    def __init__(
        self, give_up: Callable[[], bool], on_retry: Callable[[str], object] = str
    ) -> None:
        self._give_up = give_up
        self._on_retry = on_retry
        self._down: dict[str, float] = {}
        self._lock = threading.Lock()

    def down(self) -> dict[str, float]:
        """Name the servers that are waited for, each with the seconds since it failed first."""
        with self._lock:
            return {server: monotonic() - since for server, since in self._down.items()}

    def until_done(
        self, server: str, action: Callable[[], Answer], outages: tuple[type[Exception], ...]
    ) -> Answer:
        """Call `action` until it raises none of `outages`; return what it answers.

        Waits with capped exponential back-off and jitter between the tries. Any other exception of
        the action comes through. Raises Abandoned when the work is given up while it waits.
        """
        tries = Retrying(
            retry=retry_if_exception_type(outages),
            wait=wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS),
            sleep=self._wait,
            before_sleep=lambda state: self._failed(server, state),
        )
        answer = tries(action)
        self._works(server)
        return answer

    def _failed(self, server: str, state: RetryCallState) -> None:
        self._on_retry(server)
        with self._lock:
            known = server in self._down
            self._down.setdefault(server, monotonic())
        if not known and state.outcome:
            error = state.outcome.exception()
            message = f"{type(error).__name__}: {error}"[:_MESSAGE_CHARACTERS]
            log.warning(
                "%s cannot be used now, waiting for it; nothing is lost (%s)", server, message
            )

    def _works(self, server: str) -> None:
        if server in self._down:
            with self._lock:
                since = self._down.pop(server, None)
            if since is not None:
                log.info("%s can be used again, after %.1f seconds", server, monotonic() - since)

    def _wait(self, seconds: float) -> None:
        until = monotonic() + seconds
        while True:
            if self._give_up():
                raise Abandoned
            left = until - monotonic()
            if left <= 0:
                return
            sleep(min(left, _LOOK_SECONDS))
