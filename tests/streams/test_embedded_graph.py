"""The embedded FalkorDB: its settings, its data after every kind of end, and who may reach it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from falkordb import FalkorDB

from streams import embedded_graph
from streams.errors import ServerMissing
from tests import servers


@contextmanager
def connected(url: str) -> Iterator[FalkorDB]:
    """Give a client that is closed afterwards."""
    client = FalkorDB.from_url(url)
    try:
        yield client
    finally:
        client.connection.connection_pool.disconnect()


def test_it_keeps_what_it_acknowledges_and_caps_nothing(data: Path) -> None:
    """The append-only file is on, nothing is evicted, and no query is cut by time or rows."""
    with servers.ended(embedded_graph.start(data)) as server, connected(server.address) as db:
        config = db.connection.config_get("append*") | db.connection.config_get("maxmemory-policy")
        limits = {
            name: db.config_get(name)
            for name in ("TIMEOUT_MAX", "TIMEOUT_DEFAULT", "RESULTSET_SIZE")
        }

    assert (config["appendonly"], config["appendfsync"]) == ("yes", "everysec")
    assert config["maxmemory-policy"] == "noeviction"
    assert limits == {"TIMEOUT_MAX": 0, "TIMEOUT_DEFAULT": 0, "RESULTSET_SIZE": -1}


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_data_stays(data: Path, end: str) -> None:
    """What was acknowledged is there after a clean end and after SIGKILL, when start comes back."""
    with servers.ended(embedded_graph.start(data)) as server:
        with connected(server.address) as db:
            db.select_graph("g").query("UNWIND range(1, 500) AS n CREATE (:N {n: n})")
        getattr(server, end)()
        assert embedded_graph.running(data) is None

    with servers.ended(embedded_graph.start(data)) as server, connected(server.address) as db:
        assert db.select_graph("g").query("MATCH (n:N) RETURN count(n)").result_set == [[500]]


def test_another_process_attaches(data: Path) -> None:
    """A start in a second process gives the same server, which goes on when that process ends."""
    program = (
        "import sys; from pathlib import Path; from streams import embedded_graph\n"
        "server = embedded_graph.start(Path(sys.argv[1]))\n"
        "print(server.pid, server.attached, server.address)"
    )

    with servers.ended(embedded_graph.start(data)) as server:
        command = [sys.executable, "-c", program, str(data)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

        assert told == [str(server.pid), "True", server.address]
        assert server.alive()


def test_a_short_folder_is_served_by_a_socket(data: Path) -> None:
    """The socket lies in the data folder, its name may hold any character, and no port is open."""
    folder = data / 'a b%20"é'

    with servers.ended(embedded_graph.start(folder)) as server, connected(server.address) as db:
        assert server.address.startswith("unix:///")
        assert (folder / "graph.sock").is_socket()
        assert db.connection.config_get("port") == {"port": "0"}


def test_a_long_folder_is_served_by_a_port_with_a_password(data: Path) -> None:
    """A path too long for a socket is served on 127.0.0.1 only, and asks for a password."""
    folder = data / ("x" * 104)

    with servers.ended(embedded_graph.start(folder)) as server, connected(server.address) as db:
        port = server.address.rpartition(":")[2]
        assert db.connection.config_get("bind") == {"bind": "127.0.0.1"}
        with (
            redis.Redis(host="127.0.0.1", port=int(port)) as stranger,
            pytest.raises(redis.AuthenticationError),
        ):
            stranger.ping()
        command = Path(f"/proc/{server.pid}/cmdline")
        password = server.address.split(":")[2].partition("@")[0]
        assert not command.exists() or password not in command.read_text()


def test_another_version_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of an untested version is refused, and nothing is left running."""
    monkeypatch.setattr(embedded_graph, "MODULE_VERSION", 1)

    with pytest.raises(ServerMissing, match=r"has version \[42201\], wanted \[1\]"):
        embedded_graph.start(data)
    assert embedded_graph.running(data) is None


def test_a_missing_package_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without falkordblite the text says what to install, or which setting names a server."""
    monkeypatch.setattr(embedded_graph, "find_spec", lambda name: None)

    with pytest.raises(ServerMissing, match=r"pip install falkordblite, or name a server"):
        embedded_graph.start(data)


def test_broken_data_is_told_with_the_servers_words(data: Path) -> None:
    """An append-only file that cannot be read ends the start, with the server's own last lines."""
    with servers.ended(embedded_graph.start(data)):
        pass
    (manifest,) = (data / "graph" / "appendonlydir").glob("*.manifest")
    manifest.write_text("not a manifest\n")

    with pytest.raises(ServerMissing) as caught:
        embedded_graph.start(data)

    assert "FalkorDB ended while it started" in str(caught.value)
    assert "manifest" in str(caught.value)
    assert "What to do" in str(caught.value)
