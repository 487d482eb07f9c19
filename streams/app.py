"""The Faust app: how topics are read into the worker, and the worker run on it."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import faust
from faust.exceptions import ConsumerNotStarted
from yarl import URL

from streams import credentials
from streams.chunks import ChunkSchema, ChunkTransport
from streams.pieces import Piece
from streams.settings import Settings
from streams.worker import Worker

#: Seconds without a heartbeat after which the broker gives a worker's partitions away; a join on
#: Tansu takes half of it, and Kafka takes no less.
SESSION_SECONDS, HEARTBEAT_SECONDS = 6.0, 1.0
#: Seconds that others wait for a worker to finish its open batches in a rebalance.
REBALANCE_SECONDS = 30.0
#: Seconds for one answer of the broker; a join may take as long as a rebalance.
REQUEST_SECONDS = 40.0
#: Seconds between two commits: after a kill at most so much is repeated.
COMMIT_SECONDS = 0.5
#: Chunks that wait in the reader's buffer: with a chunk's records it bounds the memory.
BUFFERED_CHUNKS = 16
#: Seconds without a fetch after which the client would leave its group; an outage may last.
IDLE_SECONDS = 10 * 86_400.0
#: Milliseconds until the client looks again for topics and partitions: a topic that was only just
#: made may have no leader yet when it is subscribed to, and the client would wait five minutes.
METADATA_MS = 10_000
#: Bytes of one fetch of a partition, at least.
FETCH_BYTES = 1_048_576
#: Seconds for a client that is cut off to close its connections.
_CUT_SECONDS = 0.5
#: Seconds that Faust waits for more changes before it subscribes anew; it would wait 45.
SUBSCRIBE_SECONDS = 0.5


def run(settings: Settings) -> None:
    """Run the worker until SIGTERM or Ctrl-C, then stop it within the grace.

    A second signal ends it at once. Raises StreamsError where it cannot work: the graph's server is
    not set as the delivery rule needs, topics are missing, or (exit code 3) a server is not there
    or the broker has lost records.
    """
    Worker(settings, Reader).run()


class Reader:
    """A Faust app that hands every chunk of some topics to `put`, in order for each partition.

    `hooks` are those of ChunkTransport. Belongs to the loop on which it is made.
    """

    def __init__(
        self,
        settings: Settings,
        servers: str,
        names: Iterable[str],
        put: Callable[[Piece], Awaitable[None]],
        **hooks: Callable[..., None],
    ) -> None:
        self._app = app = _made(settings, servers)
        records = settings.worker.batch_records
        app.transport = ChunkTransport(app.conf.broker, app, chunk_records=records, **hooks)
        app.topics._resubscribe_sleep_lock_seconds = SUBSCRIBE_SECONDS
        self._channel: Any = app.topic(*names, schema=ChunkSchema())
        # One list, shared with the copies that Faust makes of the channel: it may grow.
        self._channel.topics = list(names)

        # Nothing may escape the agent: what comes of a chunk is decided behind `put`.
        @app.agent(self._channel, name="rows")  # type: ignore[untyped-decorator]
        async def rows(stream: Any) -> None:
            async for event in stream.noack().events():
                await put(Piece(event))

    async def start(self) -> None:
        """Join the group and begin to read; returns after the first assignment."""
        self._app.finalize()
        await self._app.start()

    async def stop(self) -> None:
        """Stop reading, wait for the chunks in work, commit, leave the group."""
        await self._app.stop()

    def let_go(self) -> None:
        """Have `stop` wait no longer for chunks in work; they will be delivered again."""
        self._app.consumer.let_go()

    async def cut(self) -> None:
        """End the Kafka clients at once, where `stop` does not come to its end."""
        self._app.consumer.cut()
        if (producer := self._app.producer._producer) is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(producer.stop(), _CUT_SECONDS)

    def crash(self) -> BaseException | None:
        """Tell what broke the app; None while it works."""
        return self._app.crash_reason if self._app.crashed else None

    def is_rebalancing(self) -> bool:
        """Say whether partitions are being taken away and given anew."""
        return self._app.rebalancing

    def topics(self) -> list[str]:
        """List the topics that are read."""
        return list(self._channel.topics)

    def read_also(self, names: Iterable[str]) -> list[str]:
        """Read more topics; returns those that were not read before.

        To be told again until they are subscribed to: Faust forgets what comes in a rebalance.
        """
        new = [name for name in names if name not in self._channel.topics]
        self._channel.topics.extend(new)
        if any(name not in self._app.topics._topic_name_index for name in self._channel.topics):
            self._app.topics._flag_changes()
        return new

    def lags(self) -> Mapping[tuple[str, int], int]:
        """Count for each partition the records that are not done yet."""
        try:
            return self._app.consumer.lags()
        except ConsumerNotStarted:
            return {}


class _App(faust.App):
    """An app without tables needs no folder for them; Faust would make one where it is started."""

    # Services name their logger after their module: this one is as chatty as Faust's own.
    logger = logging.getLogger("faust.streams")

    def _create_directories(self) -> None:
        """Make no folders."""


def _made(settings: Settings, servers: str) -> Any:
    return _App(settings.worker.group, **_options(settings, servers))


def _options(settings: Settings, servers: str) -> dict[str, Any]:
    return {
        "broker": [URL(f"kafka://{server.strip()}") for server in servers.split(",")],
        "broker_credentials": _credentials(credentials.security(settings.broker.options)),
        "broker_session_timeout": SESSION_SECONDS,
        "broker_heartbeat_interval": HEARTBEAT_SECONDS,
        "broker_rebalance_timeout": REBALANCE_SECONDS,
        "broker_request_timeout": REQUEST_SECONDS,
        "broker_commit_interval": COMMIT_SECONDS,
        "broker_max_poll_interval": IDLE_SECONDS,
        "broker_max_poll_records": 4 * settings.worker.batch_records,
        "consumer_auto_offset_reset": "earliest",
        "consumer_metadata_max_age_ms": METADATA_MS,
        "consumer_max_fetch_size": max(FETCH_BYTES, settings.topics.max_record_bytes),
        "stream_buffer_maxsize": BUFFERED_CHUNKS,
        "stream_wait_empty": True,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "autodiscover": False,
        "web_enabled": False,
    }


def _credentials(security: credentials.Security) -> Any:
    if security.mechanism:
        return faust.SASLCredentials(
            username=security.username,
            password=security.password,
            ssl_context=security.context,
            mechanism=security.mechanism,
        )
    return faust.SSLCredentials(security.context) if security.context else None
