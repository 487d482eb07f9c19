"""Which commands does the program have, as its own parser knows them; and how do tests run it?"""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from streams import cli, settings
from streams.settings import Settings

ROOT = Path(__file__).parent.parent
SETTINGS = """
[graph]
url = "{graph}"
[broker]
servers = "{broker}"
[worker]
prefix = "{name}."
group = "{name}"
http = "127.0.0.1:0"
[topics]
partitions = 2
{more}
[kinds.Plane]
key = "tail"
[[sources]]
topic = "rows"
by = "feed"
tenant = "{name}"
"""


def run(
    *words: str, cwd: Path, seconds: float = 120, errors: str = "strict", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder, whose `data` is the data folder; without a terminal.

    `errors` says how bytes that are not UTF-8 are read.
    """
    return subprocess.run(
        command(*words),
        cwd=cwd,
        env=surroundings(cwd, **environment),
        capture_output=True,
        encoding="utf-8",
        errors=errors,
        timeout=seconds,
        check=False,
    )


def command(*words: str) -> list[str]:
    """Give the words that start the program from the source that is tested."""
    return [sys.executable, "-m", "streams", *words]


def surroundings(cwd: Path, **environment: str) -> dict[str, str]:
    """Give the environment of a program run in a folder."""
    own = {"LIGHTHOUSE_GRAPH_DATA": str(cwd / "data"), "PYTHONPATH": str(ROOT)}
    return os.environ | own | environment


def heed_interrupts() -> None:
    """Let a program end on SIGINT also where the tests run in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def every_command() -> Iterator[tuple[str, Any]]:
    """Give the words of each command with its parser, those of command groups too."""
    yield from _below(typer.main.get_command(cli.app), ())


def options_of(command: Any) -> set[str]:
    """Name the options that a command takes, in their long and short forms."""
    return {word for parameter in command.params for word in parameter.opts if word.startswith("-")}


def settled(folder: Path, broker: str, graph: str = "embedded", more: str = "") -> Settings:
    """Write a settings file with names of the test's own into a folder, and load it.

    It knows one kind, and one source of rows for a tenant. `more` is put under [topics].
    """
    name = f"test-{secrets.token_hex(4)}"
    file = folder / "lighthouse.toml"
    file.write_text(SETTINGS.format(name=name, broker=broker, graph=graph, more=more))
    return settings.load(file)


def _below(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _below(command, (*words, name))
        else:
            yield " ".join((*words, name)), command
