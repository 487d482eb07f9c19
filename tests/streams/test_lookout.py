"""The servers are looked at before the start and while the worker runs."""

import dataclasses
import threading
from pathlib import Path

import pytest
from falkordb import FalkorDB

from streams import embedded, lookout, topics
from streams.errors import ServerMissing, StreamsError
from streams.identity import TopicReplaced
from streams.lookout import Servers
from streams.pressure import Abandoned, Pressure
from streams.settings import Settings
from tests.servers import ended
from tests.working import delete_topic, told

LATER = "[[sources]]\ntopic = 'rows\\.[a-z]+'\nby = 'x'\n"


@pytest.fixture(name="own")
def _own(tmp_path: Path, graph_url: str, broker: str) -> Settings:
    """Give settings of this test's own."""
    return told(tmp_path, graph_url, broker, more=LATER)


@pytest.fixture(name="servers")
def _servers(own: Settings, monkeypatch: pytest.MonkeyPatch) -> Servers:
    """Look at the topics every time."""
    monkeypatch.setattr(lookout, "LOOKS_FOR_TOPICS", 1)
    return Servers(own, Pressure(lambda: False))


def test_servers_that_are_as_they_must_be_pass(servers: Servers, own: Settings) -> None:
    """Nothing is raised, and the topics that the settings name are those to read."""
    servers.check()

    assert servers.names(threading.Event()) == [topics.full(own, "rows")]
    assert servers.look([]) == [topics.full(own, "rows")]


@pytest.mark.parametrize("missing", ["receipts", "dead-letters"])
def test_a_missing_topic_for_answers_is_named(
    servers: Servers, own: Settings, missing: str
) -> None:
    """With the command that makes it."""
    name = topics.full(own, missing)
    delete_topic(own, name)

    with pytest.raises(StreamsError, match=rf"{name} is not there: make it with"):
        servers.check()


def test_a_server_that_would_lose_rows_is_refused(
    servers: Servers, own: Settings, db: FalkorDB
) -> None:
    """The setting to change is named; the settings may allow the loss."""
    graph = own.graph.model_copy(update={"allow_loss": True})
    allowing = Servers(dataclasses.replace(own, graph=graph), Pressure(lambda: False))
    db.connection.execute_command("CONFIG", "SET", "appendonly", "no")
    try:
        with pytest.raises(StreamsError, match="appendonly yes"):
            servers.check()
        allowing.check()
    finally:
        db.connection.execute_command("CONFIG", "SET", "appendonly", "yes")


def test_an_embedded_server_that_does_not_run_is_not_waited_for(
    own: Settings, tmp_path: Path
) -> None:
    """Nobody is about to start it: what to do instead is said at once."""
    graph = own.graph.model_copy(update={"url": "embedded", "data": tmp_path / "none"})
    servers = Servers(dataclasses.replace(own, graph=graph), Pressure(lambda: False))

    with pytest.raises(ServerMissing, match="no FalkorDB runs"):
        servers.check()


def test_a_server_named_in_the_settings_is_waited_for(
    tmp_path: Path, data: Path, broker: str
) -> None:
    """One that comes later is found; the wait ends when it is given up."""
    server = embedded.start_graph(data)
    own = told(tmp_path, server.address, broker)
    server.stop()
    tries: list[str] = []
    starting: list[embedded.Server] = []

    def retried(name: str) -> None:
        tries.append(name)
        if len(tries) == 2:
            starting.append(embedded.start_graph(data))

    Servers(own, Pressure(lambda: False, retried)).check()
    with ended(starting[0]):
        pass

    assert tries[:2] == ["FalkorDB", "FalkorDB"]
    with pytest.raises(Abandoned):
        Servers(own, Pressure(lambda: True)).check()


def test_without_a_topic_it_waits_until_told_to_stop(
    own: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A source whose topics do not exist yet is no error: it is told once."""
    monkeypatch.setattr(lookout, "LOOK_SECONDS", 0.1)
    elsewhere = own.worker.model_copy(update={"prefix": "nowhere."})
    servers = Servers(dataclasses.replace(own, worker=elsewhere), Pressure(lambda: False))
    stopped = threading.Event()
    threading.Timer(0.5, stopped.set).start()

    with pytest.raises(Abandoned):
        servers.names(stopped)

    assert caplog.text.count("has a topic yet") == 1


def test_a_topic_that_was_made_again_is_noticed(servers: Servers, own: Settings) -> None:
    """A look compares the ids of all topics, those of the answers too."""
    name = topics.full(own, "receipts")
    read = servers.look([topics.full(own, "rows")])
    delete_topic(own, name)
    topics.create(own)

    with pytest.raises(TopicReplaced, match="was made again"):
        servers.look(read)


def test_a_server_that_is_waited_for_already_is_not_looked_at(own: Settings) -> None:
    """It answers a look perhaps, and still takes no rows: only the one who waits says it is back."""
    pressure = Pressure(lambda: True)
    for name in ("FalkorDB", "the broker"):
        with pytest.raises(Abandoned):
            pressure.until_done(name, lambda: 1 / 0, (ZeroDivisionError,))

    assert Servers(own, pressure).look([]) == []
    assert sorted(pressure.down()) == ["FalkorDB", "the broker"]
