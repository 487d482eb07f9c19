"""Graphs that hold sites: one of a module's tests, and one of a test's own."""

import secrets
from collections.abc import Iterator

import pytest
from falkordb import FalkorDB, Graph

import lighthouse
from tests.sites import SITE


@pytest.fixture(name="sites", scope="module")
def _sites(db: FalkorDB) -> Iterator[Graph]:
    """Give one graph with the schema of a site to all tests of a module."""
    graph = db.select_graph(f"test-sites-{secrets.token_hex(6)}")
    lighthouse.ensure_schema(graph, [SITE])
    yield graph
    graph.delete()


@pytest.fixture(name="site")
def _site(graph: Graph) -> Graph:
    """Give a graph of the test's own with the schema of a site."""
    lighthouse.ensure_schema(graph, [SITE])
    return graph
