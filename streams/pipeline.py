"""How do slices of partitions go through the worker? Gathered into batches, stage by stage.

While the database writes one batch, the next is being decoded and the receipts of the one before
are being sent. Each stage has one thread and takes the batches in the order they were gathered, so
records of one key keep their order. A batch has two ends only: every stage is done with it, or it
is let go of undone, and then so is everything of its era that comes behind it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from streams.pressure import Abandoned
from streams.threads import CallThread

log = logging.getLogger("streams.pipeline")

#: Bytes of values after which a batch is closed, so that a batch of large records is a small one.
BATCH_BYTES = 8 * 1024 * 1024
#: Slices that wait between the reader and the gathering; the reader's own buffer holds more.
_WAITING_SLICES = 2
#: Batches that wait between two stages: one, so that a rebalance has little to wait for.
_WAITING_BATCHES = 1


class Slice(Protocol):
    """What is gathered: some records of one partition, read in one era."""

    def count(self) -> int:
        """Count its records."""

    def size(self) -> int:
        """Give the bytes of its values."""

    def era(self) -> int:
        """Tell which assignment of partitions it was read under; later ones are larger."""


@dataclass(slots=True)
class _Batch:
    slices: list[Any]
    era: int
    value: Any


class Pipeline:
    """Gathers slices into batches and takes each through `stages`, one thread for each stage.

    The first stage is given the list of slices, each other one what the stage before it returned.
    `done` is called with every slice of a finished batch, `let_go` with every slice of one given
    up. While `in_haste` says so a batch does not wait for more, as during a stop or a rebalance. A
    stage raises Abandoned to give its batch up. Any other exception is a defect: `broken` is called
    with it, and nothing goes through any more.
    """

    def __init__(
        self,
        stages: Sequence[Callable[[Any], Any]],
        *,
        done: Callable[[Any], None],
        let_go: Callable[[Any], None],
        broken: Callable[[Exception], None],
        in_haste: Callable[[], bool],
        batch_records: int,
        batch_seconds: float,
    ) -> None:
        self._stages = stages
        self._done, self._let_go, self._broken = done, let_go, broken
        self._in_haste = in_haste
        self._batch_records, self._batch_seconds = batch_records, batch_seconds
        self._inbox: asyncio.Queue[Any] = asyncio.Queue(_WAITING_SLICES)
        self._threads = [CallThread(f"stage-{number}") for number in range(len(stages))]
        self._tasks: list[asyncio.Task[None]] = []
        self._open: asyncio.Timeout | None = None
        self._given_up_era = -1
        self._is_broken = False

    async def put(self, piece: Any) -> None:
        """Hand in a slice; waits while the stages have enough to do."""
        await self._inbox.put(piece)

    def start(self) -> None:
        """Begin to take slices; call it on the loop that hands them in."""
        queues: list[asyncio.Queue[_Batch]] = [
            asyncio.Queue(_WAITING_BATCHES) for _ in self._stages
        ]
        self._tasks = [asyncio.create_task(self._gather(queues[0]))]
        for number, stage in enumerate(self._stages):
            onward = queues[number + 1] if number + 1 < len(queues) else None
            run = self._run(self._threads[number], stage, queues[number], onward)
            self._tasks.append(asyncio.create_task(run))

    def stop(self) -> None:
        """End the tasks; a stage that is at work in its thread is not waited for."""
        for task in self._tasks:
            task.cancel()
        for thread in self._threads:
            thread.end()

    def hurry(self) -> None:
        """Close the open batch now, because `in_haste` has become true."""
        if self._open is not None:
            self._open.reschedule(asyncio.get_running_loop().time())

    async def _gather(self, onward: asyncio.Queue[_Batch]) -> None:
        while True:
            slices = await self._gathered()
            await onward.put(_Batch(slices, slices[0].era(), slices))

    async def _gathered(self) -> list[Any]:
        slices = [await self._inbox.get()]
        count, size = slices[0].count(), slices[0].size()
        try:
            async with asyncio.timeout(
                0 if self._in_haste() else self._batch_seconds
            ) as self._open:
                while count < self._batch_records and size < BATCH_BYTES:
                    piece = await self._inbox.get()
                    slices.append(piece)
                    count, size = count + piece.count(), size + piece.size()
        except TimeoutError:
            pass
        finally:
            self._open = None
        return slices

    async def _run(
        self,
        thread: CallThread,
        stage: Callable[[Any], Any],
        waiting: asyncio.Queue[_Batch],
        onward: asyncio.Queue[_Batch] | None,
    ) -> None:
        while True:
            batch = await waiting.get()
            if not await self._through(thread, stage, batch):
                self._each(self._let_go, batch)
            elif onward is None:
                self._each(self._done, batch)
            else:
                await onward.put(batch)

    async def _through(
        self, thread: CallThread, stage: Callable[[Any], Any], batch: _Batch
    ) -> bool:
        """Run one stage; say whether the batch goes on."""
        if self._is_broken or batch.era <= self._given_up_era:
            return False
        try:
            batch.value = await thread.call(stage, batch.value)
            return True
        except Abandoned:
            self._given_up_era = max(self._given_up_era, batch.era)
        except Exception as error:  # noqa: BLE001 - handed on, and nothing is acknowledged
            self._is_broken = True
            self._broken(error)
        return False

    def _each(self, tell: Callable[[Any], None], batch: _Batch) -> None:
        for piece in batch.slices:
            tell(piece)
