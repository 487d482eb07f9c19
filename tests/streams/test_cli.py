"""The program as people run it: exit codes, messages, JSON, and help for every command."""

import json
import re
from pathlib import Path

import pytest
import typer

from streams import cli
from tests.commands import every_command, run
from tests.servers import free_port

COMMANDS = dict(every_command())


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_help_with_an_example(words: str) -> None:
    """The example begins with the program's name and the command itself."""
    text = COMMANDS[words].help or ""

    assert f"Example: lighthouse-streams {words}".rstrip() in " ".join(text.split())


def test_help_is_shown_and_ends_well(tmp_path: Path) -> None:
    """Each command is listed with one line."""
    shown = run("--help", cwd=tmp_path)

    assert shown.returncode == 0
    listed = re.findall(r"^│ ([a-z][a-z-]+) ", shown.stdout, re.MULTILINE)
    assert set(listed) == {words.split()[0] for words in COMMANDS}


def test_the_version_is_told(tmp_path: Path) -> None:
    """It is that of the installed distribution."""
    shown = run("--version", cwd=tmp_path)

    assert re.fullmatch(r"lighthouse-streams (\d+\.\d+\.\d+|not installed)\n", shown.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("status", "--nonsense"),
        ("history", "Plane"),
        ("publish", "none.csv", "--kind", "Plane", "--key", "tail", "--time", "at"),
        ("publish", "README", "--kind", "Plane", "--key", "tail", "--time", "at"),
        ("history", "Plain", "N1"),
        ("status", "--config", "none.toml"),
        ("receipts", "--status", "nonsense"),
    ],
)
def test_wrong_usage_ends_with_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What is wrong is said on standard error, never by a traceback; nothing else is printed."""
    ended = run(*words, cwd=tmp_path)

    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.strip()
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        *("status", "check", "topics list", "topics create", "topics check", "receipts"),
        *("dead-letters list", "dead-letters show rows/0/0", "history Plane N1"),
        "publish a.csv --kind A --key k --time t",
    ],
)
def test_a_missing_server_ends_with_3(tmp_path: Path, words: str) -> None:
    """Without the embedded servers, every command that needs one says how to start them."""
    (tmp_path / "a.csv").write_text("k,t\n")

    ended = run(*words.split(), cwd=tmp_path)

    assert ended.returncode == 3, ended.stderr
    assert "lighthouse-streams up" in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_database_that_does_not_answer_ends_with_3(tmp_path: Path) -> None:
    """It is named, without the password of its address."""
    url = f"redis://me:secret@127.0.0.1:{free_port()}"

    ended = run("history", "Plane", "N1", cwd=tmp_path, LIGHTHOUSE_GRAPH_URL=url)

    assert ended.returncode == 3
    assert "no FalkorDB answers at redis://127.0.0.1" in ended.stderr
    assert "secret" not in ended.stderr


def test_settings_that_cannot_be_end_with_2(tmp_path: Path) -> None:
    """File, key and what is allowed are named."""
    (tmp_path / "lighthouse.toml").write_text("[worker]\nbatch_ms = 0\n")

    ended = run("status", cwd=tmp_path)

    assert ended.returncode == 2
    assert "lighthouse.toml: worker.batch_ms" in ended.stderr


def test_init_writes_settings_that_load(tmp_path: Path) -> None:
    """A second time it refuses, and --force writes over the file."""
    file = tmp_path / "lighthouse.toml"

    first = run("init", cwd=tmp_path)
    file.write_text("mine")
    second = run("init", cwd=tmp_path)
    kept = file.read_text()
    third = run("init", "--force", cwd=tmp_path)

    assert (first.returncode, second.returncode, third.returncode) == (0, 2, 0)
    assert "--force" in second.stderr
    assert kept == "mine"
    assert "[kinds.Plane]" in file.read_text()
    assert run("status", cwd=tmp_path).returncode == 3


def test_a_dry_run_needs_no_server(tmp_path: Path) -> None:
    """It prints records as JSON lines and publishes nothing."""
    (tmp_path / "a.csv").write_text("tail,at,seats\nN1,2026-01-01,5\nN2,2026-01-01,6\n")
    words = "publish a.csv --kind Plane --key tail --time at --shift +1d --dry-run --limit 1"

    shown = run(*words.split(), cwd=tmp_path)

    (record,) = [json.loads(line) for line in shown.stdout.splitlines()]
    assert shown.returncode == 0, shown.stderr
    assert (record["line"], record["key"]) == (2, "Plane/N1")
    assert json.loads(record["value"])["t"] == "2026-01-02T00:00:00+00:00"


def test_what_nobody_foresaw_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of ours comes with its traceback; only known troubles become one line."""

    def broken(context: typer.Context) -> None:
        raise ZeroDivisionError

    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(broken)
    monkeypatch.setattr(cli, "app", app)

    with pytest.raises(ZeroDivisionError):
        cli.main([])
