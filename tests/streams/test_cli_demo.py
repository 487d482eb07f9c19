"""The demo as a new user runs it: once on nothing, and once more while `up` runs."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams import embedded, settings
from tests.commands import command, run, surroundings

#: Seconds that the issue allows for the demo after installation.
DEMO_SECONDS = 120


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder without settings, in which the demo runs."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module", name="first")
def _first(place: Path) -> subprocess.CompletedProcess[str]:
    return run("demo", cwd=place, seconds=DEMO_SECONDS, **HTTP)


#: A port of the worker's own: another program may have the default.
HTTP = {"LIGHTHOUSE_WORKER_HTTP": "127.0.0.1:0"}


@pytest.fixture(name="up")
def _up(place: Path, first: object) -> Iterator[subprocess.Popen[str]]:
    """Run `up` on the graph that the first demo left."""
    with (place / "up.log").open("w") as log:
        process = subprocess.Popen(
            command("up"), cwd=place, env=surroundings(place, **HTTP), stderr=log, text=True
        )
        told = settings.load(settings.EXAMPLE, {"graph.data": str(place / "data")})
        deadline = time.monotonic() + 60
        while embedded.addresses(told).broker is None and time.monotonic() < deadline:
            time.sleep(0.1)
        yield process
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def counts(shown: str) -> dict[str, int]:
    """Read the table of statuses."""
    lines = shown[shown.index("status ") :].splitlines()[1:]
    cells = [line.split() for line in lines if line.strip()]
    return {
        line[0]: int(line[1].replace(",", ""))
        for line in cells[: next(n for n, line in enumerate(cells) if not line[1][0].isdigit())]
    }


def test_the_demo_shows_what_became_of_every_row(
    first: subprocess.CompletedProcess[str],
) -> None:
    """Counts by status add up to the sample: each plane is created once, each late row inserted."""
    assert first.returncode == 0, first.stderr
    assert counts(first.stdout) == {
        "changed": 9011,
        "created": 2032,
        "inserted": 1038,
        "schema": 510,
        "invalid": 3,
    }
    assert "12,594 rows, a receipt for each" in first.stdout


def test_the_demo_shows_the_dead_letters_and_why(
    first: subprocess.CompletedProcess[str],
) -> None:
    """Flights without a time or a tail number, and midnight written as 24:00."""
    assert "513 dead letters, by reason" in first.stdout
    assert '371  schema: "t" is missing' in first.stdout
    assert '139  schema: "key" is missing' in first.stdout
    assert "3  invalid: '2013-03-" in first.stdout


def test_the_demo_shows_a_plane_and_where_it_was(
    first: subprocess.CompletedProcess[str],
) -> None:
    """Its windows touch, in UTC; at the asked time it stood where it had landed last."""
    assert "One of the planes: N13975, 14 versions" in first.stdout
    assert "\n2013-03-09 17:51:00  2013-03-09 20:36:00  BUF " in first.stdout
    assert "\n2013-03-09 20:36:00  2013-03-09 22:45:00      " in first.stdout
    assert "4 of these were reported after the plane had left again" in first.stdout
    assert "At BUF, where flight 4229 EWR to BUF had landed 2013-03-09 17:51:00." in first.stdout


def test_the_demo_leaves_no_server_behind(
    first: subprocess.CompletedProcess[str], place: Path
) -> None:
    """What it started it has ended; the graph's files stay."""
    told = settings.load(settings.EXAMPLE, {"graph.data": str(place / "data")})
    at = embedded.addresses(told)

    assert (at.graph, at.broker) == (None, None)
    assert (place / "data" / "graph").is_dir()


def test_up_goes_on_from_the_graph_and_the_demo_runs_beside_it(
    up: subprocess.Popen[str], place: Path
) -> None:
    """A second demo finds every row known, by the worker of `up`; Ctrl-C ends that well."""
    history = run("history", "Plane", "N13975", cwd=place)
    second = run("demo", cwd=place, seconds=DEMO_SECONDS, **HTTP)
    up.send_signal(signal.SIGINT)
    ended = up.wait(60)
    log = (place / "up.log").read_text()

    assert history.stdout.startswith("Plane N13975: 14 versions")
    assert second.returncode == 0, second.stderr
    assert counts(second.stdout) == {"unchanged": 12081, "schema": 510, "invalid": 3}
    assert "Nothing is new" in second.stdout
    assert ended == 0, log
    assert f"data     {place / 'data'}" in log
    assert "keeps topics in memory only" in log
    assert "Traceback" not in log


def test_the_demo_says_that_settings_of_another_kind_do_not_suit(tmp_path: Path) -> None:
    """In a folder with settings that know no planes it ends with 2, before anything starts."""
    (tmp_path / "lighthouse.toml").write_text('[kinds.Ship]\nkey = "imo"\n')

    ended = run("demo", cwd=tmp_path)

    assert ended.returncode == 2
    assert "declares no kind Plane" in ended.stderr
    assert not (tmp_path / "data").exists()
