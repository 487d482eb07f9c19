"""`history` as people run it, on a graph of the real database."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from falkordb import FalkorDB

import lighthouse
from streams import settings
from tests.commands import run


@pytest.fixture(name="tenant")
def _tenant(db: FalkorDB, graph_url: str, tmp_path: Path) -> Iterator[str]:
    """Give a tenant whose graph knows one plane, with settings in the test's folder."""
    file = tmp_path / "lighthouse.toml"
    file.write_text(
        f'[graph]\nurl = "{graph_url}"\n[kinds.Plane]\nkey = "tail"\n'
        'relations = { BASED_AT = "Airport" }\n[kinds.Airport]\nkey = "faa"\n'
    )
    tenant = f"t-{secrets.token_hex(4)}"
    graph = lighthouse.tenant(db, tenant)
    plane = settings.load(file).kinds["Plane"]
    lighthouse.ensure_schema(graph, [plane])
    rows = [
        {"key": key, "t": f"2026-01-0{day}", "values": {"seats": 55, "day": day}, "relations": at}
        for key in ("N1", 5)
        for day, at in ((1, {"BASED_AT": "EWR"}), (2, None), (3, {"BASED_AT": ["IAH", "LGA"]}))
    ]
    lighthouse.remember(graph, plane, rows, by="test")
    yield tenant
    graph.delete()


def test_versions_are_a_table(tenant: str, tmp_path: Path) -> None:
    """Windows, relations and what changed are columns; what never changed stands above."""
    shown = run("history", "Plane", "N1", "--tenant", tenant, cwd=tmp_path)

    title, same, head, *lines = [line.rstrip() for line in shown.stdout.splitlines()]
    assert shown.returncode == 0, shown.stderr
    assert title == "Plane N1: 3 versions"
    assert same == "in all of them: by test, seats 55"
    assert head.split() == ["valid", "from", "valid", "to", "BASED_AT", "day"]
    assert lines[0].split() == ["2026-01-01", "00:00:00", "2026-01-02", "00:00:00", "EWR", "1"]
    assert lines[2].split() == ["2026-01-03", "00:00:00", "now", "IAH,", "LGA", "3"]


def test_versions_as_json(tenant: str, tmp_path: Path) -> None:
    """One document; only the last are in it where so asked, and how many there are."""
    words = ("history", "Plane", "N1", "--tenant", tenant, "--last", "2", "--json")

    found = json.loads(run(*words, cwd=tmp_path).stdout)

    assert (found["total"], found["graph"]) == (3, f"tenant:{tenant}")
    at = [version["relations"]["BASED_AT"] for version in found["versions"]]
    assert at == [[], ["IAH", "LGA"]]
    assert found["versions"][0]["valid_to"] == "2026-01-03T00:00:00+00:00"


def test_what_held_at_a_time(tenant: str, tmp_path: Path) -> None:
    """An offset in the time counts."""
    words = ("history", "Plane", "N1", "--tenant", tenant, "--as-of", "2026-01-02T01:00:00+02:00")

    shown = run(*words, cwd=tmp_path)
    found = json.loads(run(*words, "--json", cwd=tmp_path).stdout)

    assert found["values"] == {"seats": 55, "day": 1}
    assert found["relations"] == {"BASED_AT": ["EWR"]}
    assert "BASED_AT" in shown.stdout
    assert "EWR" in shown.stdout


def test_a_number_is_another_key_than_its_text(tenant: str, tmp_path: Path) -> None:
    """--number-key asks for the number."""
    words = ("history", "Plane", "5", "--tenant", tenant, "--json")

    as_text = run(*words, cwd=tmp_path)
    as_number = run(*words, "--number-key", cwd=tmp_path)

    assert as_text.returncode == 1
    assert json.loads(as_text.stdout)["total"] == 0
    assert (as_number.returncode, json.loads(as_number.stdout)["total"]) == (0, 3)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("Plane N2", 1, "nothing is known of Plane N2 in the graph tenant:"),
        ("Plane N1 --as-of 2025-01-01", 1, "nothing is known of Plane N1 at 2025-01-01"),
        ("Plane N1 --as-of soon", 2, "soon"),
        ("Plane x --number-key", 2, "'x'"),
        ("Plain N1", 2, "did you mean 'Plane'"),
    ],
)
def test_what_cannot_be_shown(
    tenant: str, tmp_path: Path, words: str, code: int, told: str
) -> None:
    """What is unknown ends with 1, what cannot be with 2, each in words."""
    ended = run("history", *words.split(), "--tenant", tenant, cwd=tmp_path)

    assert ended.returncode == code, ended.stderr
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [("never-seen", 1, "written to the graph tenant:never-seen yet"), ("A b", 2, "a tenant id")],
)
def test_a_tenant_without_a_graph(
    tenant: str, tmp_path: Path, name: str, code: int, told: str
) -> None:
    """Nothing is made by looking."""
    ended = run("history", "Plane", "N1", "--tenant", name, cwd=tmp_path)

    assert ended.returncode == code, ended.stderr
    assert told in ended.stderr
