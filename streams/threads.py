"""How does a loop have blocking calls made one after the other, and end without them?"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any


class CallThread:
    """A thread that calls functions one after the other.

    Unlike an executor's it does not keep the process from ending: a server that never answers must
    not outlast the grace of a stop.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    async def call(self, function: Callable[..., Any], *values: Any) -> Any:
        """Call a function in the thread; return what it returns, raise what it raises."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def called() -> None:
            try:
                settle = partial(_settle, answer, function(*values), None)
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                settle = partial(_settle, answer, None, error)
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(settle)

        self._calls.put(called)
        return await answer

    def end(self) -> None:
        """End the thread after the calls that it has; does not wait for that."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _settle(answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
