"""Where are the servers? Starts the embedded ones, and connects to what is there."""

from dataclasses import dataclass
from pathlib import Path

import redis
from falkordb import FalkorDB
from redis.backoff import NoBackoff
from redis.retry import Retry

from streams import embedded_broker, embedded_graph
from streams.embedded_process import Server
from streams.errors import ServerMissing
from streams.settings import EMBEDDED, Settings

__all__ = [
    "Addresses",
    "Server",
    "addresses",
    "broker_servers",
    "connect",
    "end",
    "public",
    "start_broker",
    "start_graph",
]

#: Seconds to reach the database, and seconds for one answer: the longest write is far below it, and
#: a server that was stopped in its tracks must count as an outage one day.
_CONNECT_SECONDS, _ANSWER_SECONDS = 5, 120
_START = "start the embedded servers with `lighthouse-streams up`, or name a server in the settings"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The graph's URL and the broker's host:port list; None: an embedded one that does not run."""

    graph: str | None
    broker: str | None


def start_graph(data: Path) -> Server:
    """Start FalkorDB on the data folder, or attach to the one there, and wait until it has loaded.

    Raises ServerMissing when it cannot be started.
    """
    return embedded_graph.start(data)


def start_broker(data: Path, port: int = 0) -> Server:
    """Start the in-memory broker for the data folder, or attach to the one that runs there.

    Topics and offsets of an earlier run are gone. `port` 0: the last one used there, or a free one.
    Raises ServerMissing when it cannot be started.
    """
    return embedded_broker.start(data, port)


def addresses(settings: Settings) -> Addresses:
    """Return where the servers are: as the settings say, or as they run for the data folder."""
    data = settings.graph.data
    url, servers = settings.graph.url, settings.broker.servers
    return Addresses(
        graph=_address(embedded_graph.running(data)) if url == EMBEDDED else url,
        broker=_address(embedded_broker.running(data)) if servers == EMBEDDED else servers,
    )


def end(settings: Settings) -> str:
    """End the embedded servers of the data folder, the broker first; returns what was done."""
    data = settings.graph.data
    found = [embedded_broker.running(data), embedded_graph.running(data)]
    for server in filter(None, found):
        server.stop()
    names = ", ".join(server.name for server in found if server)
    return f"ended: {names}" if names else f"no embedded server runs for {data}"


def broker_servers(settings: Settings) -> str:
    """Return the broker's address; raises ServerMissing when the embedded one does not run."""
    servers = addresses(settings).broker
    if servers is None:
        raise ServerMissing(f"no broker runs for the data folder {settings.graph.data}: {_START}")
    return servers


def connect(settings: Settings) -> FalkorDB:
    """Connect to the graph's server.

    The client never sends a query again by itself: a write that was done already would then be
    answered as a repeat. Raises ServerMissing when the server does not run or does not answer.
    """
    url = addresses(settings).graph
    if url is None:
        raise ServerMissing(f"no FalkorDB runs for the data folder {settings.graph.data}: {_START}")
    try:
        return FalkorDB.from_url(
            url,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
    except (redis.RedisError, ValueError, OSError) as error:
        raise ServerMissing(f"no FalkorDB answers at {public(url)}: {error}") from error


def public(url: str) -> str:
    """Return a server's URL without its user and password."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _address(server: Server | None) -> str | None:
    return server.address if server else None
