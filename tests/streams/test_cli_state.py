"""`status` and `check` as people run them."""

import json
import time
from pathlib import Path

import pytest
from falkordb import FalkorDB

from streams import cli_state, embedded, topics
from streams.settings import Settings
from tests import servers
from tests.commands import run, settled


@pytest.fixture(name="told")
def _told(broker: str, graph_url: str, tmp_path: Path) -> Settings:
    """Give settings with a prefix and a group of this test's own, kept in its folder."""
    return settled(tmp_path, broker, graph_url)


def test_status_is_shown_and_given_as_json(told: Settings, tmp_path: Path) -> None:
    """The same facts, as a table and as one document."""
    topics.create(told)
    (tmp_path / "a.jsonl").write_text('{"kind":"Plane","key":"a","t":"2026","values":{}}\n' * 3)
    run("publish", "a.jsonl", cwd=tmp_path)

    shown = run("status", cwd=tmp_path)
    found = json.loads(run("status", "--json", cwd=tmp_path).stdout)

    assert shown.returncode == 0, shown.stderr
    assert found["group"] == told.worker.group
    of = {topic["topic"].removeprefix(told.worker.prefix): topic for topic in found["topics"]}
    assert (of["rows"]["records"], of["rows"]["waiting"]) == (3, 3)
    rows = next(line for line in shown.stdout.splitlines() if "rows" in line)
    assert rows.split()[1:4] == ["2", "3", "3"]


def test_check_is_content_with_servers_that_are_set_right(told: Settings, tmp_path: Path) -> None:
    """Nothing is refused: exit code 0; a missing topic is only warned of."""
    before = json.loads(run("check", "--json", cwd=tmp_path).stdout)
    topics.create(told)
    after = run("check", cwd=tmp_path)

    assert {finding["level"] for finding in before} == {"ok", "warn"}
    assert after.returncode == 0, after.stderr
    assert "warn" not in after.stdout


def test_check_ends_with_1_where_the_worker_would_not_start(
    told: Settings, tmp_path: Path, data: Path
) -> None:
    """The setting to change is named."""
    with servers.ended(embedded.start_graph(data)) as server:
        own = FalkorDB.from_url(server.address)
        own.execute_command("CONFIG SET", "maxmemory-policy", "allkeys-lru")
        own.connection.close()

        shown = run("check", cwd=tmp_path, LIGHTHOUSE_GRAPH_URL=server.address)

    assert shown.returncode == 1
    assert "maxmemory-policy noeviction" in shown.stdout


def test_check_goes_on_when_a_server_is_missing(told: Settings, tmp_path: Path) -> None:
    """The other one is looked at all the same; the exit code is 3."""
    url = f"redis://127.0.0.1:{servers.free_port()}"

    shown = run("check", cwd=tmp_path, LIGHTHOUSE_GRAPH_URL=url)

    assert shown.returncode == 3
    assert "no FalkorDB answers" in shown.stdout
    assert f"topic {told.worker.prefix}rows" in shown.stdout


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90, "90."), (600, "10 min"), (10_800, "3 h"), (864_000, "10 days")],
)
def test_how_long_a_record_has_waited(seconds: int, text: str) -> None:
    """In the unit that fits."""
    assert cli_state.waited(round((time.time() - seconds) * 1000)).startswith(text)
    assert cli_state.waited(None) is None
