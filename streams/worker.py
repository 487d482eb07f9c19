"""How does a worker start, go on through outages, and stop?"""

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from streams import embedded, lookout, measures, topics
from streams.errors import StreamsError
from streams.lookout import Servers
from streams.measures import Measures
from streams.outbox import Outbox
from streams.pipeline import Pipeline
from streams.pressure import Abandoned, Pressure
from streams.route import Router
from streams.rows import RowStages
from streams.settings import Settings
from streams.threads import CallThread
from streams.write import Graphs, Writer

log = logging.getLogger("streams.worker")

#: Seconds to wait before a reader that broke is started again; doubled each time, up to the second.
RESTART_SECONDS = (0.5, 30.0)
#: Seconds between two looks of the loop at what the worker was told.
_TICK_SECONDS = 0.05
#: Seconds for tasks to end that a stop cuts off, and how often they are told.
_CANCEL_SECONDS, _CANCEL_ROUNDS = 0.2, 3
#: Seconds to commit and to leave the group after the grace, or after the reader broke.
_LEAVE_SECONDS = 3.0


class RecordsLost(StreamsError):
    """The broker has lost records, or what the group had committed; nothing was skipped."""

    exit_code = 3


class Worker:
    """Reads the topics of the settings and writes their rows until it is stopped.

    `make_reader(settings, servers, names, put, **hooks)` makes what reads: `app.Reader`.
    """

    def __init__(self, settings: Settings, make_reader: Callable[..., Any]) -> None:
        self._settings, self._make_reader = settings, make_reader
        self._told, self._at_once = threading.Event(), threading.Event()
        self._failure: Exception | None = None
        self._reader: Any = None
        self._is_reading = False
        self.measures = Measures()
        self.measures.ready(lambda: bool(self.readiness()["ready"]))
        self._pressure = Pressure(self._gives_up, self.measures.retried)
        self._servers = Servers(settings, self._pressure)

    def stop(self) -> None:
        """Ask the worker to stop; asked a second time it does not wait for what is open."""
        (self._at_once if self._told.is_set() else self._told).set()

    def readiness(self) -> Mapping[str, Any]:
        """Say whether the worker reads and writes, and for which servers it waits (seconds)."""
        away = {server: round(seconds, 1) for server, seconds in self._pressure.down().items()}
        ready = self._is_reading and not away and not self._is_over()
        return {"ready": ready, "reading": self._is_reading, "waiting_for": away}

    def run(self) -> None:
        """Run until stopped or until it cannot work; raises StreamsError in that case."""
        server = measures.serve(self._settings.worker.http, self.measures, self.readiness)
        try:
            with self._signals(), _quiet("aiokafka"), contextlib.suppress(Abandoned):
                self._servers.check()
                self._live_on()
        finally:
            if server:
                server.shutdown()
                server.server_close()
        if self._failure:
            raise self._failure
        log.info("the worker has stopped")

    # Living

    def _live_on(self) -> None:
        wait = RESTART_SECONDS[0]
        while not self._is_over():
            names = self._servers.names(self._told)
            loop = asyncio.new_event_loop()
            crash = loop.run_until_complete(self._live(names))
            _end(loop)
            if crash is not None and not self._is_over():
                log.warning("the reader broke and is started again: %r", crash)
                self._told.wait(wait)
                wait = min(2 * wait, RESTART_SECONDS[1])

    async def _live(self, names: list[str]) -> BaseException | None:
        """Read and write until stopped, or until the reader breaks: then return what broke it."""
        outbox = Outbox(topics.client_config(self._settings))
        graphs = Graphs(lambda: embedded.connect(self._settings))
        pipeline = self._pipeline(graphs, outbox)
        looker = CallThread("look")
        self._reader = reader = self._make_reader(
            self._settings,
            embedded.broker_servers(self._settings),
            names,
            pipeline.put,
            on_lost=self._on_lost,
            on_pause=lambda: self._on_pause(pipeline),
            on_assigned=self._on_assigned,
        )
        log.info("reading %s as group %s", ", ".join(names), self._settings.worker.group)
        pipeline.start()
        running = asyncio.create_task(self._watch(reader, looker))
        try:
            starting = asyncio.create_task(reader.start())
            crash = await self._until_over(reader, starting)
            await self._stop(reader, pipeline, starting, crash is not None)
        finally:
            self._is_reading, self._reader = False, None
            running.cancel()
            pipeline.stop()
            looker.end()
            outbox.close()
            graphs.close()
        return crash

    def _pipeline(self, graphs: Graphs, outbox: Outbox) -> Pipeline:
        settings = self._settings
        writer = Writer(graphs, settings.kinds.values(), self._pressure)
        stages = RowStages(
            ids=self._servers.ids,
            router=Router(settings),
            writer=writer,
            outbox=outbox,
            answers=self._servers.answers,
            pressure=self._pressure,
            measures=self.measures,
            max_record_bytes=settings.topics.max_record_bytes,
        )
        return Pipeline(
            (stages.prepare, stages.write, stages.answer),
            done=lambda piece: piece.acknowledge(),
            let_go=lambda piece: piece.let_go(),
            broken=self._on_broken,
            in_haste=self._gives_up,
            batch_records=settings.worker.batch_records,
            batch_seconds=settings.worker.batch_ms / 1000,
        )

    async def _until_over(self, reader: Any, starting: asyncio.Task[None]) -> BaseException | None:
        while not self._is_over():
            if (crash := reader.crash()) is not None:
                return crash
            if (error := _error_of(starting)) is not None:
                return error
            await asyncio.sleep(_TICK_SECONDS)
        return None

    # Stopping

    def _is_over(self) -> bool:
        return self._told.is_set() or self._failure is not None

    def _gives_up(self) -> bool:
        """Say whether whoever waits for a server should stop waiting."""
        reader = self._reader
        return self._is_over() or (reader is not None and reader.is_rebalancing())

    async def _stop(
        self, reader: Any, pipeline: Pipeline, starting: asyncio.Task[None], broken: bool
    ) -> None:
        grace = 0.0 if broken else float(self._settings.worker.grace_seconds)
        if not broken:
            log.info("stopping: open batches are finished or let go of, for %.0f seconds", grace)
        self._is_reading = False
        pipeline.hurry()
        starting.cancel()
        stopping = asyncio.create_task(reader.stop())
        if not await self._within(grace, stopping):
            if not broken:
                log.warning("the grace is over: what is open will be delivered again")
            reader.let_go()
            await self._within(_LEAVE_SECONDS, stopping)
        if (error := _error_of(stopping)) is not None:
            log.warning("the reader did not stop cleanly: %r", error)
        if error is not None or not stopping.done() or stopping.cancelled():
            await reader.cut()

    async def _within(self, seconds: float, task: asyncio.Task[None]) -> bool:
        """Wait for a task, not longer than told and not after a second signal; say if it ended."""
        until = asyncio.get_running_loop().time() + seconds
        while not task.done() and not self._at_once.is_set():
            if asyncio.get_running_loop().time() >= until:
                break
            await asyncio.sleep(_TICK_SECONDS)
        return task.done()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop on SIGTERM and Ctrl-C; outside the main thread signals are somebody else's."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = (signal.SIGTERM, signal.SIGINT)
        before = {name: signal.signal(name, lambda *_: self.stop()) for name in names}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    # What it is told

    def _on_assigned(self) -> None:
        self._servers.ids.forget()
        self._is_reading = True

    def _on_pause(self, pipeline: Pipeline) -> None:
        self._is_reading = False
        pipeline.hurry()

    def _on_lost(self, topic: str, partition: int, expected: int, found: int) -> None:
        self._fail(
            RecordsLost(
                f"{topic}/{partition} was read up to offset {expected} and now stands at {found}:"
                " the broker has lost records. Start the worker again to go on with what is there",
                topic=topic,
                partition=partition,
                offset=expected,
            )
        )

    def _on_broken(self, error: Exception) -> None:
        if not isinstance(error, StreamsError):
            log.error("a defect stopped the worker; nothing was acknowledged", exc_info=error)
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error

    # Looking

    async def _watch(self, reader: Any, looker: CallThread) -> None:
        while True:
            await asyncio.sleep(lookout.LOOK_SECONDS)
            try:
                names = await looker.call(self._servers.look, reader.topics())
                if new := reader.read_also(names):
                    log.info("new topics are read: %s", ", ".join(new))
                self.measures.lag(reader.lags())
            except Abandoned:
                continue
            except StreamsError as error:
                self._fail(error)
                return
            except Exception:
                log.exception("a look at the servers failed; the work goes on")


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Keep loggers silent: an outage is told once, by us, and what we cut off is no error."""
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        if logger.getEffectiveLevel() > logging.DEBUG:
            logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """End a loop; tasks that do not let themselves be cancelled are left behind."""
    with _quiet("asyncio", "faust", "mode"):
        for _ in range(_CANCEL_ROUNDS):  # some take the first one for a wake-up
            if not (tasks := asyncio.all_tasks(loop)):
                break
            for task in tasks:
                task.cancel()
                task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.run_until_complete(asyncio.wait(tasks, timeout=_CANCEL_SECONDS))
        closing = loop.create_task(loop.shutdown_asyncgens())
        loop.run_until_complete(asyncio.wait([closing], timeout=_CANCEL_SECONDS))
        loop.close()


def _error_of(task: asyncio.Task[None]) -> BaseException | None:
    """Give what a task has raised; None while it runs, and where it was cancelled."""
    return task.exception() if task.done() and not task.cancelled() else None
