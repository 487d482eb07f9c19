"""Where the servers are: as the settings name them, or as they run for the data folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from streams import embedded, settings
from streams.embedded import Addresses
from streams.errors import ServerMissing
from streams.settings import Settings
from tests import servers

Told = Callable[..., Settings]


@pytest.fixture(name="told")
def _told(data: Path) -> Told:
    """Give settings with the test's data folder and these values in place of the defaults."""

    def load(**overrides: str) -> Settings:
        flags = {name.replace("__", "."): value for name, value in overrides.items()}
        return settings.load(settings.EXAMPLE, {"graph.data": data} | flags)

    return load


def test_named_servers_are_where_the_settings_say(told: Told) -> None:
    """An address in the settings is taken as it is, whether a server is there or not."""
    named = told(graph__url="redis://db:1", broker__servers="a:1,b:2")

    assert embedded.addresses(named) == Addresses("redis://db:1", "a:1,b:2")
    assert embedded.broker_servers(named) == "a:1,b:2"


def test_embedded_servers_are_found_while_they_run(told: Told, data: Path) -> None:
    """Their addresses are there from their start to their end, and no longer."""
    before = embedded.addresses(told())
    with (
        servers.ended(embedded.start_graph(data)) as graph,
        servers.ended(embedded.start_broker(data)) as broker,
    ):
        during = embedded.addresses(told())
        assert embedded.broker_servers(told()) == broker.address

    assert before == Addresses(None, None)
    assert during == Addresses(graph.address, broker.address)
    assert embedded.addresses(told()) == Addresses(None, None)


def test_end_stops_what_runs_for_the_folder(told: Told, data: Path) -> None:
    """Both servers of the folder are ended, whoever started them; without any it says so."""
    with servers.ended(embedded.start_graph(data)), servers.ended(embedded.start_broker(data)):
        first, second = embedded.end(told()), embedded.end(told())

    assert first == "ended: broker, graph"
    assert second == f"no embedded server runs for {data}"


def test_connect_reaches_the_server(told: Told, graph_url: str) -> None:
    """A client of the named server answers."""
    client = embedded.connect(told(graph__url=graph_url))

    assert client.select_graph("connect").query("RETURN 1").result_set == [[1]]
    client.select_graph("connect").delete()
    client.connection.connection_pool.disconnect()


def test_a_server_that_does_not_run_is_told(told: Told, data: Path) -> None:
    """Without an embedded server the text names the folder and the command that starts one."""
    for ask in (embedded.connect, embedded.broker_servers):
        with pytest.raises(
            ServerMissing, match=f"for the data folder {data}: .*lighthouse-streams up"
        ):
            ask(told())


def test_a_server_that_does_not_answer_is_told_without_its_password(told: Told) -> None:
    """A named server that is not there is told by its address, and the password is left out."""
    port = servers.free_port()

    with pytest.raises(ServerMissing) as caught:
        embedded.connect(told(graph__url=f"redis://me:hunter2@127.0.0.1:{port}"))

    assert f"no FalkorDB answers at redis://127.0.0.1:{port}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://me:p%40ss@host:1", "redis://host:1"),
        # an @ in a password ends nothing: the last one does
        ("redis://:p@ss@host:1", "redis://host:1"),
        ("unix:///a/b.sock", "unix:///a/b.sock"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    """What is shown of a URL has no user and no password."""
    assert embedded.public(url) == shown
