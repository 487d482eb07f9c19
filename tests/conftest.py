"""The servers and the graphs that tests run on; `tests.servers` says which servers those are."""

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from falkordb import FalkorDB, Graph

from tests import servers


@pytest.fixture(scope="session", autouse=True, name="given")
def _given() -> Mapping[str, str]:
    """Take the product's variables out of the environment: they must not reach a test."""
    names = [name for name in os.environ if name.startswith("LIGHTHOUSE_")]
    return {name: os.environ.pop(name) for name in names}


@pytest.fixture(scope="session", name="graph_url")
def _graph_url(given: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.graph_server(tmp_path_factory.mktemp("graph"), given) as url:
        yield url


@pytest.fixture(scope="session", name="broker")
def _broker(given: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.broker_server(tmp_path_factory.mktemp("broker"), given) as address:
        yield address


@pytest.fixture(scope="session", name="db")
def _db(graph_url: str) -> Iterator[FalkorDB]:
    client = FalkorDB.from_url(graph_url)
    yield client
    client.connection.connection_pool.disconnect()


@pytest.fixture(name="graph")
def _graph(db: FalkorDB) -> Iterator[Graph]:
    """Give a graph of a new name, without a schema; it is deleted afterwards."""
    graph = db.select_graph(f"test-{secrets.token_hex(6)}")
    yield graph
    if graph.name in db.list_graphs():
        graph.delete()


@pytest.fixture(name="data")
def _data(tmp_path: Path) -> Path:
    """Give an empty data folder for embedded servers of the test's own."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder
