"""Sites: one kind for tests of single rows, and what is refused of it, read by plain Cypher."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

from falkordb import Graph

from lighthouse import SELF, Kind
from tests.delivering import EPOCH

SITE = Kind("Site", times=("opened",), relations={"PART_OF": SELF, "BESIDE": SELF})
#: The time of a row where nothing depends on it.
T = "2026-01-01T00:00:00"


def failures(graph: Graph) -> list[dict]:
    """Every WriteFailure of a graph, read without the library."""
    return [
        row[0] for row in graph.ro_query("MATCH (f:WriteFailure) RETURN properties(f)").result_set
    ]


def assert_well_kept(kept: dict) -> None:
    """A WriteFailure has its name, its times and a detail of bounded length."""
    said = [kept["reason"], kept["kind"], kept.get("key"), kept["detail"], None]
    assert kept["same"] == hashlib.sha256(json.dumps(said).encode()).hexdigest()
    assert 0 < len(kept["detail"]) <= 2000
    assert kept["at"] <= kept["last_at"] <= datetime.now(UTC)
    assert kept["at:us"] <= kept["last_at:us"]
    assert kept["times"] >= 1


def content(values: dict) -> str:
    """The content text of a row with these values, by the contract."""
    return json.dumps([values, {}, {"BESIDE": [], "PART_OF": []}], sort_keys=True)


def fp(values: dict) -> str:
    """The fingerprint of a row with these values, by the contract."""
    return hashlib.sha256(content(values).encode()).hexdigest()


def at(moment: str) -> int:
    """The microseconds from 1970 to a time in UTC."""
    return (datetime.fromisoformat(moment).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
