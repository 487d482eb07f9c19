"""Slices become batches, batches keep their order, and one given up takes along those behind."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from streams.pipeline import Pipeline
from streams.pressure import Abandoned


@dataclass(frozen=True)
class Piece:
    """A slice with a number, some records and an era."""

    number: int
    records: int = 10
    generation: int = 1
    bytes: int = 0

    def count(self) -> int:
        """Count its records."""
        return self.records

    def size(self) -> int:
        """Give the bytes of its values."""
        return self.bytes

    def era(self) -> int:
        """Tell its era."""
        return self.generation


class Told:
    """What the pipeline told: slices done and let go of, and the defects."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.let_go: list[int] = []
        self.broken: list[Exception] = []

    def ended(self) -> int:
        """Count the slices that came to an end."""
        return len(self.done) + len(self.let_go)


def run(pieces: list[Piece], *stages: Callable[[Any], Any], **options: Any) -> Told:
    """Send pieces through a pipeline and wait until each has come to an end."""
    told = Told()

    async def main() -> None:
        pipeline = Pipeline(
            stages,
            done=lambda piece: told.done.append(piece.number),
            let_go=lambda piece: told.let_go.append(piece.number),
            broken=told.broken.append,
            **({"in_haste": bool, "batch_records": 20, "batch_seconds": 0.05} | options),
        )
        pipeline.start()
        for piece in pieces:
            await pipeline.put(piece)
        async with asyncio.timeout(10):
            while told.ended() < len(pieces):
                await asyncio.sleep(0.005)
        pipeline.stop()

    asyncio.run(main())
    return told


def test_full_batches_do_not_wait_for_the_clock() -> None:
    """A backlog is cut by count at once, however long a batch might wait for more."""
    sizes: list[int] = []

    started = time.monotonic()
    told = run(
        [Piece(n) for n in range(20)], lambda batch: sizes.append(len(batch)), batch_seconds=30
    )

    assert sizes == [2] * 10
    assert told.done == list(range(20))
    assert time.monotonic() - started < 5


def test_a_batch_that_does_not_fill_is_closed_by_the_clock() -> None:
    """Few records go through after the batch time, together."""
    sizes: list[int] = []

    told = run([Piece(n, records=1) for n in range(3)], lambda batch: sizes.append(len(batch)))

    assert sizes == [3]
    assert told.done == [0, 1, 2]


def test_large_records_close_a_batch_by_their_bytes() -> None:
    """Slices of eight megabytes each make a batch of their own."""
    sizes: list[int] = []
    pieces = [Piece(n, records=1, bytes=8 * 1024 * 1024) for n in range(3)]

    run(pieces, lambda batch: sizes.append(len(batch)), batch_seconds=5)

    assert sizes == [1, 1, 1]


def test_stages_overlap_and_keep_the_order() -> None:
    """While one batch is in the second stage the next one is in the first, and none overtakes."""
    together: list[int] = []
    inside = threading.Semaphore(0)
    count = 0

    def first(batch: list[Piece]) -> list[Piece]:
        nonlocal count
        count += 1
        time.sleep(0.02)
        count -= 1
        return batch

    def second(batch: list[Piece]) -> list[Piece]:
        inside.release()
        together.append(count)
        time.sleep(0.03)
        return batch

    told = run([Piece(n, records=20) for n in range(8)], first, second)

    assert told.done == list(range(8))
    assert sum(together) > 0


def test_a_batch_given_up_takes_along_those_of_its_era_behind_it() -> None:
    """After an Abandoned nothing of the same era is done any more; the next era is."""
    seen: list[int] = []

    def stage(batch: list[Piece]) -> None:
        seen.append(batch[0].number)
        if batch[0].number == 1:
            raise Abandoned

    eras = [1, 1, 1, 1, 2, 2]
    told = run([Piece(n, records=20, generation=era) for n, era in enumerate(eras)], stage)

    assert told.done == [0, 4, 5]
    assert told.let_go == [1, 2, 3]
    assert seen == [0, 1, 4, 5]


def test_a_defect_stops_everything_and_is_told_once() -> None:
    """An unexpected error is handed on, and no batch behind it is done or tried."""
    seen: list[int] = []

    def stage(batch: list[Piece]) -> None:
        seen.append(batch[0].number)
        if batch[0].number == 1:
            raise ZeroDivisionError

    told = run([Piece(n, records=20) for n in range(5)], stage)

    assert told.done == [0]
    assert told.let_go == [1, 2, 3, 4]
    assert seen == [0, 1]
    assert [type(error) for error in told.broken] == [ZeroDivisionError]


@pytest.mark.parametrize("stages", [1, 3])
def test_each_stage_is_given_what_the_one_before_returned(stages: int) -> None:
    """The first stage sees the slices, the others the value handed on."""
    given: list[Any] = []

    def stage(value: Any) -> int:
        given.append(value)
        return len(given)

    run([Piece(0, records=20)], *[stage] * stages)

    assert given[0] == [Piece(0, records=20)]
    assert given[1:] == list(range(1, stages))


def test_nothing_waits_for_more_in_haste() -> None:
    """During a stop or a rebalance the first slice is a batch."""
    sizes: list[int] = []

    told = run(
        [Piece(0, records=1)],
        lambda batch: sizes.append(len(batch)),
        batch_seconds=30,
        in_haste=lambda: True,
    )

    assert told.done == [0]
    assert sizes == [1]


def test_hurry_closes_the_batch_that_is_open() -> None:
    """A batch that waits for more goes on at once when haste begins."""
    done: list[Any] = []

    async def main() -> float:
        pipeline = Pipeline(
            [lambda batch: batch],
            done=done.append,
            let_go=done.append,
            broken=done.append,
            in_haste=bool,
            batch_records=20,
            batch_seconds=30,
        )
        pipeline.start()
        await pipeline.put(Piece(0, records=1))
        await asyncio.sleep(0.1)
        waited = list(done)
        pipeline.hurry()
        async with asyncio.timeout(5):
            while not done:
                await asyncio.sleep(0.005)
        pipeline.stop()
        return waited

    assert asyncio.run(main()) == []
    assert done == [Piece(0, records=1)]
