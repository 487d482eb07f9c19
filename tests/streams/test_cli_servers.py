"""`worker` and `up` as people run them: they work until they are stopped, and then end well."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams import embedded, receipts, settings, topics
from streams.settings import Settings
from tests.commands import command, run, settled, surroundings

ROW = '{"kind":"Plane","key":"N1","t":"2026-01-01","values":{"seats":55}}\n'
SECONDS = 60


@pytest.fixture(name="told")
def _told(broker: str, graph_url: str, tmp_path: Path) -> Settings:
    """Give settings with names of this test's own, kept in its folder for the program."""
    (tmp_path / "a.jsonl").write_text(ROW)
    return settled(tmp_path, broker, graph_url)


@contextmanager
def running(*words: str, cwd: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run the program beside the test, its log in a file; it is ended afterwards."""
    with (cwd / "log").open("w") as log:
        process = subprocess.Popen(
            command(*words), cwd=cwd, env=surroundings(cwd, **environment), stderr=log, text=True
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def answered(told: Settings) -> list[str]:
    """Wait for a receipt and give the statuses of all there are."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if found := [receipt["status"] for receipt in receipts.read(told)]:
            return found
        time.sleep(0.5)
    return []


def test_a_worker_writes_until_it_is_stopped(told: Settings, tmp_path: Path) -> None:
    """SIGTERM ends it with 0; what it wrote is there."""
    topics.create(told)
    run("publish", "a.jsonl", cwd=tmp_path)
    with running("worker", cwd=tmp_path) as worker:
        statuses = answered(told)
        worker.send_signal(signal.SIGTERM)
        ended = worker.wait(SECONDS)

    shown = run("history", "Plane", "N1", "--tenant", told.worker.group, "--json", cwd=tmp_path)

    assert statuses == ["created"]
    assert ended == 0, (tmp_path / "log").read_text()
    assert json.loads(shown.stdout)["versions"][0]["values"] == {"seats": 55}


def test_a_worker_logs_json_lines_where_so_asked(told: Settings, tmp_path: Path) -> None:
    """Every line on standard error is one object."""
    topics.create(told)
    run("publish", "a.jsonl", cwd=tmp_path)
    with running("worker", "--log-json", cwd=tmp_path) as worker:
        answered(told)
        worker.send_signal(signal.SIGTERM)
        worker.wait(SECONDS)

    lines = (tmp_path / "log").read_text().splitlines()

    assert lines
    assert all({"time", "level", "logger", "message"} <= json.loads(line).keys() for line in lines)


def test_a_worker_without_topics_says_how_to_make_them(told: Settings, tmp_path: Path) -> None:
    """It does not start on what is not there."""
    ended = run("worker", cwd=tmp_path)

    assert ended.returncode == 1
    assert "topics create" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_flag_wins_over_the_environment(told: Settings, tmp_path: Path) -> None:
    """And the environment over the file; the wrong one is named."""
    wrong = {"LIGHTHOUSE_WORKER_GROUP": "not a name"}

    by_variable = run("worker", cwd=tmp_path, **wrong)
    by_flag = run("worker", "--group", "nor this", cwd=tmp_path, **wrong)

    assert (by_variable.returncode, by_flag.returncode) == (2, 2)
    assert "LIGHTHOUSE_WORKER_GROUP: worker.group: 'not a name'" in by_variable.stderr
    assert "the command line: worker.group: 'nor this'" in by_flag.stderr


def test_up_ends_its_servers_at_sigterm(tmp_path: Path) -> None:
    """Also when it comes early: no server stays behind."""
    told = settings.load(settings.EXAMPLE, {"graph.data": str(tmp_path / "data")})
    with running("up", cwd=tmp_path, LIGHTHOUSE_WORKER_HTTP="127.0.0.1:0") as up:
        deadline = time.monotonic() + SECONDS
        while embedded.addresses(told).broker is None and time.monotonic() < deadline:
            time.sleep(0.05)
        up.send_signal(signal.SIGTERM)
        ended = up.wait(SECONDS)

    at = embedded.addresses(told)
    assert ended == 0, (tmp_path / "log").read_text()
    assert (at.graph, at.broker) == (None, None)
