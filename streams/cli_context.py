"""What did the user say before the command: which settings, and how the log is to look?"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from streams import settings
from streams.settings import Settings

#: Options of the program itself. They are taken anywhere on the line: people put them last.
WITH_VALUE, ALONE = ("--config",), ("--log-json",)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options of the program itself."""

    config: Path | None
    log_json: bool

    def arguments(self) -> list[str]:
        """Give these options as a command line has them, for a worker started beside."""
        config = ["--config", str(self.config)] if self.config else []
        return config + (["--log-json"] if self.log_json else [])


def settings_of(context: typer.Context, overrides: dict[str, Any] | None = None) -> Settings:
    """Load the settings that the command line names; `overrides` are flags that win over them."""
    return settings.load(context.obj.config, overrides or {})


def hoisted(arguments: Sequence[str]) -> list[str]:
    """Move the program's own options before the command; what comes after `--` stays."""
    front, rest = [], []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word in WITH_VALUE:
            front += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word in ALONE or word.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest


def program() -> list[str]:
    """Give the words that start this program once more, from the same installation."""
    return [sys.executable, "-m", "streams"]
