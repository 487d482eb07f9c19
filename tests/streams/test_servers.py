"""Which embedded servers a command starts, and which of them it ends."""

from pathlib import Path

from streams import embedded, servers, settings
from tests.servers import ended


def told(data: Path, **flags: str) -> settings.Settings:
    """Give the example's settings with another data folder."""
    named = {name.replace("_", "."): value for name, value in flags.items()}
    return settings.load(settings.EXAMPLE, {"graph.data": str(data)} | named)


def test_what_it_started_it_ends(data: Path) -> None:
    """Both servers run for the time of the command and not longer."""
    settings = told(data)

    with servers.running(settings) as running:
        during = embedded.addresses(settings)
        pids = (running.graph.pid, running.broker.pid)

    after = embedded.addresses(settings)
    assert None not in (during.graph, during.broker, *pids)
    assert not running.broker_attached
    assert (after.graph, after.broker) == (None, None)


def test_what_ran_before_goes_on(data: Path) -> None:
    """A command beside `up` uses its servers and leaves them."""
    settings = told(data)
    with ended(embedded.start_graph(data)) as graph, ended(embedded.start_broker(data)) as broker:
        with servers.running(settings) as running:
            assert (running.graph.pid, running.broker.pid) == (graph.pid, broker.pid)
            assert running.broker_attached

        assert graph.alive()
        assert broker.alive()


def test_servers_that_the_settings_name_are_not_started(data: Path) -> None:
    """They are somebody else's."""
    settings = told(data, graph_url="redis://127.0.0.1:1", broker_servers="127.0.0.1:1")

    with servers.running(settings) as running:
        assert (running.graph, running.broker) == (None, None)
        assert running.broker_attached
    assert list(data.iterdir()) == []
