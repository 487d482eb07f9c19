"""How records are read: Faust's transport, delivering one event per slice of a partition.

Faust keeps its agents, assignment, flow control and commit timer. What differs from its own
consumer: an event holds up to `chunk_records` raw records, positions are kept here, and an offset
moves only when the worker acknowledges (`acknowledge`), never because Faust let go of an event.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from time import monotonic
from typing import Any

import faust
from aiokafka.errors import IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage, Message
from mode.threads import WorkerThread
from mode.utils.futures import notify

from streams.acknowledge import Place, Progress
from streams.membership import Membership
from streams.pieces import Chunk
from streams.positions import Positions
from streams.raw_batches import keep_header_names

log = logging.getLogger("streams.chunks")
# Services name their logger after their module: ours are as chatty about it as Faust's own.
_service_log = logging.getLogger("faust.chunks")

#: Seconds between two looks while every partition is paused because the agent has enough to do.
_PAUSED_SECONDS = 0.02
#: Seconds for which a log must look shorter than what was read of it before that is believed:
#: right after a change of leader a broker may name an older end for a moment.
_SHORT_SECONDS = 3.0
#: Seconds that a commit may take: the client tries for ever while the broker is away, and a stop
#: must not wait for that.
_COMMIT_SECONDS = 5.0


class ChunkSchema(faust.Schema):
    """Hands a chunk to the agent as it is: the worker decodes each record, where it may fail."""

    def compile(self, app: Any, **_: Any) -> Callable[..., Any]:
        """Return the function that makes an event of a message; it cannot fail."""

        async def decode(message: Message, **_: Any) -> Any:
            return app.create_event(None, message.value, None, message)

        return decode


class DaemonThread(WorkerThread):
    """A thread that does not keep the process from ending when a broker never answers."""

    def __init__(self, service: Any, **options: Any) -> None:
        super().__init__(service, **options)
        self.daemon = True


class ChunkThread(driver.AIOKafkaConsumerThread):
    """The thread of the Kafka client; a commit that fails is tried again by the next one."""

    logger = _service_log

    async def on_start(self) -> None:
        """Connect; leaving the group is ours from then on."""
        keep_header_names()
        await super().on_start()
        Membership(self._ensure_consumer()._coordinator)

    def cut(self) -> None:
        """End the client without a word to the broker, which drops it when its session is over."""
        if self._consumer is not None and not self.thread_loop.is_closed():
            asyncio.run_coroutine_threadsafe(_cut(self._consumer), self.thread_loop)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        there = self.assignment()
        wanted = {
            TopicPartition(*tp): OffsetAndMetadata(offset, "")
            for tp, offset in offsets.items()
            if tp in there
        }
        try:
            async with asyncio.timeout(_COMMIT_SECONDS):
                await self._ensure_consumer().commit(wanted)
        except (KafkaError, IllegalStateError, TimeoutError) as error:
            log.debug("offsets were not committed, the next commit takes them along: %r", error)
            return False
        return len(wanted) == len(offsets)


async def _cut(consumer: Any) -> None:
    coordinator = consumer._coordinator
    for task in (coordinator._coordination_task, coordinator._heartbeat_task):
        if task is not None:
            task.cancel()
    await consumer._fetcher.close()
    await consumer._client.close()


class ChunkConsumer(driver.Consumer):
    """Faust's consumer, delivering chunks; it knows for each partition which offset comes next."""

    logger = _service_log
    transport: Any
    _thread: ChunkThread

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.progress = Progress()
        self.positions = Positions()
        self._kept: dict[TP, int] = {}
        self._furthest: dict[TP, int] = {}
        self._short_since: dict[TP, float] = {}

    def _new_consumer_thread(self) -> ChunkThread:
        return ChunkThread(self, loop=self.loop, beacon=self.beacon, Worker=DaemonThread)

    # Reading

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Message]]:  # noqa: ASYNC109
        """Yield what the broker has, a slice of a partition at a time, the partitions in turn.

        What was fetched and cannot be delivered, because a rebalance came between, is fetched
        again.
        """
        if not self.flow_active:
            await self.wait(self.can_resume_flow.wait())
        await self._seek_again()
        fetched = await self._fetch(timeout)
        generation = self.app.consumer_generation_id
        slices = deque(_in_turn(fetched, self.transport.chunk_records))
        try:
            while slices and self._may_deliver(generation):
                tp, raw = slices.popleft()
                if part := self.positions.take(tp, raw):
                    yield tp, self._message(tp, part, generation)
        finally:
            self.positions.missed(tp for tp, _ in slices)

    def _may_deliver(self, generation: int) -> bool:
        return (
            self.flow_active
            and not self.should_stop
            and generation == self.app.consumer_generation_id
        )

    async def _fetch(self, seconds: float) -> Mapping[TP, list[Any]]:
        active = set(self._get_active_partitions())
        if not active:
            await self.sleep(_PAUSED_SECONDS)
            return {}
        fetched = await self._getmany(active_partitions=active, timeout=seconds)
        self._watch_ends(active)
        return fetched

    def _message(self, tp: TP, raw: tuple[Any, ...], generation: int) -> ConsumerMessage:
        last = raw[-1]
        # Faust's own record of positions would drop what it takes for already read.
        self._read_offset.pop(tp, None)
        chunk = Chunk(tp.topic, tp.partition, raw, self.progress.deliver(tp, last.offset))
        return ConsumerMessage(
            topic=tp.topic,
            partition=tp.partition,
            offset=last.offset,
            timestamp=(last.timestamp or 0) / 1000.0,
            timestamp_type=last.timestamp_type,
            headers=None,
            key=None,
            value=chunk,  # type: ignore[arg-type]  # ChunkSchema takes it as it is
            checksum=None,
            serialized_key_size=0,
            serialized_value_size=0,
            tp=tp,
            generation_id=generation,
        )

    def _watch_ends(self, places: Iterable[TP]) -> None:
        """Say so when a log ends before what was already read of it: the broker lost it."""
        for tp in places:
            expected, end = self.positions.next(tp), self._end(tp)
            if expected is None or end is None or end >= expected:
                self._short_since.pop(tp, None)
            elif monotonic() - self._short_since.setdefault(tp, monotonic()) > _SHORT_SECONDS:
                self.transport.on_lost(tp.topic, tp.partition, expected, end)

    def _end(self, tp: TP) -> int | None:
        try:
            end = self.highwater(tp)
        except (AssertionError, IllegalStateError):
            return None
        return None if end is None or end < 0 else end

    # Positions

    async def perform_seek(self) -> None:
        """Go to each partition's committed offset, or to its beginning where there is none."""
        self.transport.on_assigned()
        committed = {TP(*tp): offset for tp, offset in (await self.seek_to_committed()).items()}
        fresh = [tp for tp, offset in committed.items() if not offset or offset < 0]
        starts = (
            {TP(*tp): at for tp, at in (await self.earliest_offsets(*fresh)).items()}
            if fresh
            else {}
        )
        if starts:
            await self.seek_wait(starts)
        self._forget(committed)
        self._kept.update({tp: at for tp, at in committed.items() if tp not in starts})
        begun: dict[Place, int] = {tp: starts.get(tp, at or 0) for tp, at in committed.items()}
        self.positions.start(begun)
        for tp, at in begun.items():
            # A group's offsets never go back by themselves: the broker has forgotten them.
            if at < (before := self._furthest.get(TP(*tp), 0)):
                self.transport.on_lost(*tp, before, at)

    async def _seek_again(self) -> None:
        places = {TP(*place): at for place, at in self.positions.again().items()}
        if not places:
            return
        try:
            await self.seek_wait(places)
        except (KafkaError, IllegalStateError, TimeoutError) as error:
            log.info("positions could not be set, tried again: %s", error)
            self.positions.missed(places)

    def _forget(self, places: Collection[TP]) -> None:
        self.progress.forget(places)
        self.positions.forget(places)
        for tp in places:
            self._kept.pop(tp, None)
            self._short_since.pop(tp, None)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Wait for the work in flight and commit it, then forget the partitions."""
        self.transport.on_pause()
        await super().on_partitions_revoked(revoked)
        self._forget(revoked)

    def lags(self) -> dict[tuple[str, int], int]:
        """Count each partition's records that are not done, to the end that the last fetch saw."""
        ends = {tp: self._end(tp) for tp in (TP(*place) for place in self.positions.places())}
        done = {tp: self.progress.committable(tp) or self._kept.get(tp, 0) for tp in ends}
        return {
            (tp.topic, tp.partition): max(0, end - done[tp])
            for tp, end in ends.items()
            if end is not None
        }

    # Acknowledging and committing

    def ack(self, message: Message) -> bool:
        """Take a chunk off what a stop waits for; only `Piece.acknowledge` moves its offset."""
        message.acked = True
        self._unacked_messages.discard(message)
        notify(self._waiting_for_ack)
        return True

    def let_go(self) -> None:
        """Wait no longer for chunks in work: they will be delivered again."""
        self._unacked_messages.clear()
        notify(self._waiting_for_ack)

    def cut(self) -> None:
        """End the client at once; nothing more is committed."""
        self.let_go()
        self._thread.cut()

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        places = (TP(*place) for place in self.progress.places())
        return (tp for tp in places if topics is None or tp in topics or tp.topic in topics)

    def _new_offset(self, tp: TP) -> int | None:
        return self.progress.committable(tp)

    def _should_commit(self, tp: TP, offset: int) -> bool:
        return offset > self._kept.get(tp, 0)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        committed = await super()._commit(offsets)
        if committed:
            self._kept.update(offsets)
            self._furthest.update(offsets)
        return committed

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Keep no gaps: positions are kept here."""

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Say nothing: how the worker is doing is told by its readiness and its metrics."""


def _nothing(*_: Any) -> None:
    """Do nothing."""


class ChunkTransport(driver.Transport):
    """The transport to give to a Faust app before it starts: `app.transport = ChunkTransport(...)`.

    `chunk_records`: most records of one chunk. `on_lost(topic, partition, expected, found)` is
    called, perhaps again and again, when a log ends before what was read of it, or the group's
    offset stands before what was committed: the broker has lost both, or one. `on_pause()` is
    called when partitions are taken away, before the work in flight is waited for; `on_assigned()`
    when reading begins anew.
    """

    Consumer = ChunkConsumer

    def __init__(
        self,
        *args: Any,
        chunk_records: int = 500,
        on_lost: Callable[[str, int, int, int], None] = _nothing,
        on_pause: Callable[[], None] = _nothing,
        on_assigned: Callable[[], None] = _nothing,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.chunk_records = chunk_records
        self.on_lost, self.on_pause, self.on_assigned = on_lost, on_pause, on_assigned


def _in_turn(fetched: Mapping[Any, list[Any]], size: int) -> Iterator[tuple[TP, tuple[Any, ...]]]:
    """Cut each partition's records into slices; give the first of each, then the second, ..."""
    slices = {
        TP(*tp): [tuple(raw[at : at + size]) for at in range(0, len(raw), size)]
        for tp, raw in fetched.items()
    }
    for turn in range(max(map(len, slices.values()), default=0)):
        for tp, parts in slices.items():
            if turn < len(parts):
                yield tp, parts[turn]
