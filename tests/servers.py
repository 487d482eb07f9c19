"""Which servers do the tests run on? A named one, else a container, else an embedded one."""

import atexit
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import redis
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams import embedded
from streams.embedded import Server

#: The same versions as docker-compose.yml.
FALKORDB_IMAGE = "falkordb/falkordb:v4.22.1"
KAFKA_IMAGE = "apache/kafka:4.3.1"
#: Seconds a container may take until its server answers.
_CONTAINER_SECONDS = 120


@contextmanager
def graph_server(folder: Path, given: Mapping[str, str]) -> Iterator[str]:
    """Give the URL of a FalkorDB server for the time of a test run."""
    if url := given.get("LIGHTHOUSE_GRAPH_URL"):
        yield url
    elif docker_answers():
        with _falkordb_container() as url:
            yield url
    else:
        with ended(embedded.start_graph(folder)) as server:
            yield server.address


@contextmanager
def broker_server(folder: Path, given: Mapping[str, str]) -> Iterator[str]:
    """Give the host:port of a Kafka broker for the time of a test run."""
    if servers := given.get("LIGHTHOUSE_BROKER_SERVERS"):
        yield servers
    elif docker_answers():
        with _kafka_container() as servers:
            yield servers
    else:
        with ended(embedded.start_broker(folder)) as server:
            yield server.address


@contextmanager
def ended(server: Server) -> Iterator[Server]:
    """Give the server and end it afterwards, also when the test process ends early."""
    atexit.register(server.stop)
    try:
        yield server
    finally:
        server.stop()
        atexit.unregister(server.stop)


def docker_answers() -> bool:
    """Return whether a Docker daemon can be reached."""
    scheme, _, place = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").partition("://")
    family = socket.AF_UNIX if scheme == "unix" else socket.AF_INET
    host, _, port = place.rpartition(":")
    with socket.socket(family) as probe:
        probe.settimeout(3)
        try:
            probe.connect(place if scheme == "unix" else (host, int(port)))
        except (OSError, ValueError):
            return False
    return True


@contextmanager
def _falkordb_container() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer

    settings = {
        "REDIS_ARGS": "--appendonly yes --appendfsync everysec --maxmemory-policy noeviction",
        "FALKORDB_ARGS": "TIMEOUT_MAX 0 TIMEOUT_DEFAULT 0 RESULTSET_SIZE -1",
        "BROWSER": "0",
    }
    container = DockerContainer(FALKORDB_IMAGE).with_exposed_ports(6379).with_envs(**settings)
    with container as running:
        url = f"redis://{running.get_container_host_ip()}:{running.get_exposed_port(6379)}"
        _wait_for(lambda: redis.from_url(url).ping(), redis.RedisError)
        yield url


@contextmanager
def _kafka_container() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer

    # Clients are sent to the address that the broker advertises: its outer port must be known.
    port = free_port()
    settings = {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    }
    container = DockerContainer(KAFKA_IMAGE).with_bind_ports(9092, port).with_envs(**settings)
    with container:
        servers = f"127.0.0.1:{port}"
        client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        _wait_for(lambda: client.list_topics(timeout=5), KafkaException)
        yield servers


def wait_until(met: Callable[[], object], seconds: float = 15) -> None:
    """Wait until something is so. Raises TimeoutError when it is not in time."""
    deadline = time.monotonic() + seconds
    while not met():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {seconds} s")
        time.sleep(0.02)


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(ask: Callable[[], object], refused: type[Exception]) -> None:
    deadline = time.monotonic() + _CONTAINER_SECONDS
    while True:
        try:
            ask()
        except refused:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return
