"""`topics` as people run it."""

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.commands import run, settled


@pytest.fixture(name="prefix")
def _prefix(broker: str, tmp_path: Path) -> str:
    """Keep settings with a prefix of this test's own in its folder."""
    return settled(tmp_path, broker).worker.prefix


def test_topics_are_missing_until_they_are_created(prefix: str, tmp_path: Path) -> None:
    """Then `check` ends with 1 and says what to do, later with 0; creating again is no change."""
    before = run("topics", "check", cwd=tmp_path)
    made = run("topics", "create", "--json", cwd=tmp_path)
    again = run("topics", "create", "--json", cwd=tmp_path)
    after = run("topics", "check", cwd=tmp_path)

    assert (before.returncode, after.returncode) == (1, 0)
    assert "topics create" in before.stderr
    states = [{each["name"]: each["state"] for each in json.loads(m.stdout)} for m in (made, again)]
    names = {f"{prefix}{short}" for short in ("rows", "receipts", "dead-letters")}
    assert states == [dict.fromkeys(names, "created"), dict.fromkeys(names, "exists")]


def test_a_topic_that_differs_is_told(prefix: str, broker: str, tmp_path: Path) -> None:
    """With what it has and what was planned."""
    name = f"{prefix}rows"
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 5, 1)])[name].result(15)
    run("topics", "create", cwd=tmp_path)

    shown = run("topics", "check", cwd=tmp_path)

    assert shown.returncode == 1
    assert "it has 5 partitions, planned 2" in shown.stdout
    assert "[topics] of the settings" in shown.stderr


def test_topics_are_listed_with_who_writes(prefix: str, tmp_path: Path) -> None:
    """Inputs by their source, our own by the worker."""
    run("topics", "create", cwd=tmp_path)

    listed = json.loads(run("topics", "list", "--json", cwd=tmp_path).stdout)
    shown = run("topics", "list", cwd=tmp_path)

    of = {each["topic"].removeprefix(prefix): each for each in listed}
    assert (of["rows"]["by"], of["rows"]["holds"]) == ("feed", "rows")
    assert of["rows"]["tenant"] == prefix.removesuffix(".")
    assert of["receipts"]["by"] == "the worker"
    assert of["dead-letters"]["partitions"] == 2
    assert f"{prefix}rows" in shown.stdout
