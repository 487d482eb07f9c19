"""Blocking calls run one after the other beside a loop, which can end without them."""

import asyncio
import threading
import time

import pytest

from streams.threads import CallThread


def test_calls_answer_and_keep_their_order() -> None:
    """What a call returns or raises reaches whoever waits; the next one begins after it."""
    order: list[int] = []

    def called(number: int) -> int:
        time.sleep(0.02 / (number + 1))
        order.append(number)
        return number * 2

    async def main() -> list[int]:
        thread = CallThread("test")
        answers = await asyncio.gather(*(thread.call(called, number) for number in range(5)))
        with pytest.raises(ZeroDivisionError):
            await thread.call(lambda: 1 / 0)
        thread.end()
        return answers

    assert asyncio.run(main()) == [0, 2, 4, 6, 8]
    assert order == [0, 1, 2, 3, 4]


def test_a_call_that_never_returns_holds_neither_loop_nor_process() -> None:
    """The loop ends while the call is still at work, and its late answer harms nobody."""
    let_go, ended = threading.Event(), threading.Event()

    def stuck() -> None:
        let_go.wait(10)
        ended.set()

    async def main() -> None:
        thread = CallThread("test")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(thread.call(stuck), 0.05)
        thread.end()

    asyncio.run(main())
    still_there = [each for each in threading.enumerate() if each.name == "test"]
    let_go.set()

    assert all(thread.daemon for thread in still_there)
    assert ended.wait(5)
