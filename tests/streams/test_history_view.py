"""What is shown of one entity, written and read on the real database."""

from typing import Any

import pytest
from falkordb import Graph

import lighthouse
from lighthouse import Kind
from streams import history_view

AIRPORT = Kind("Airport", key="faa")
PLANE = Kind("Plane", key="tail", relations={"BASED_AT": AIRPORT})


@pytest.fixture(name="known")
def _known(graph: Graph) -> Graph:
    """Give a graph in which one plane has three versions."""
    lighthouse.ensure_schema(graph, [PLANE])
    rows = [
        row("2026-01-01", "EWR", seats=55, event="landed"),
        row("2026-01-02", None, seats=55, event="departed"),
        row("2026-01-03", "IAH", seats=55, event="landed", delay=4),
    ]
    lighthouse.remember(graph, PLANE, rows, by="test")
    return graph


def row(t: str, at: str | None, **values: Any) -> dict[str, Any]:
    """Make a row of the plane."""
    return {"key": "N1", "t": t, "values": values, "relations": {"BASED_AT": at}}


def test_each_version_has_what_it_pointed_at(known: Graph) -> None:
    """Relations are those of the version's own beginning, not those of today."""
    shown, total = history_view.versions(known, PLANE, "N1", 10)

    assert total == 3
    assert [version.relations["BASED_AT"] for version in shown] == [["EWR"], [], ["IAH"]]
    assert [version.values.get("event") for version in shown] == ["landed", "departed", "landed"]
    assert "valid_to" not in shown[-1].about
    assert shown[0].about["valid_to"] == shown[1].about["valid_from"]


def test_only_the_last_versions_are_read(known: Graph) -> None:
    """The total says how many there are."""
    shown, total = history_view.versions(known, PLANE, "N1", 1)

    assert (total, [version.values["delay"] for version in shown]) == (3, [4])


def test_the_version_that_held_at_a_time(known: Graph) -> None:
    """With the relations of that time; None before the first."""
    held = history_view.version_at(known, PLANE, "N1", "2026-01-01T12:00")
    before = history_view.version_at(known, PLANE, "N1", "2025-12-31")

    assert held.relations == {"BASED_AT": ["EWR"]}
    assert held.shown()["values"] == {"seats": 55, "event": "landed"}
    assert before is None


def test_an_unknown_entity_has_no_versions(known: Graph) -> None:
    """It is no error."""
    assert history_view.versions(known, PLANE, "N2", 10) == ([], 0)


def test_what_all_versions_share_needs_no_column(known: Graph) -> None:
    """Columns are relations that point at something, and values that differ or come and go."""
    shown, _ = history_view.versions(known, PLANE, "N1", 10)

    assert history_view.constant(shown) == {"seats": 55, "by": "test"}
    assert history_view.columns(shown) == ["BASED_AT", "delay", "event"]
    assert history_view.constant([]) == {}
