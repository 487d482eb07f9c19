"""How is what a command found shown: tables and sentences for people, JSON for programs?"""

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

#: Columns of a table that goes into a file or a pipe, where there is no window to fit.
PIPE_WIDTH = 140
#: Seconds after which a rate says something.
RATE_SECONDS = 0.2
COLOURS = {"ok": "green", "warn": "yellow", "refuse": "red"}


def _console(stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


#: Answers go to `out`; progress, warnings and errors to `err`.
out, err = _console(stderr=False), _console(stderr=True)


def no_colours() -> None:
    """Print plain text from now on, as a program that reads the log wants it."""
    out.no_color = err.no_color = True


def say(text: str, style: str | None = None) -> None:
    """Print a sentence of the answer, unbroken, so that a pipe gets it on one line."""
    out.print(text, style=style, soft_wrap=True)


def note(text: str, style: str | None = None) -> None:
    """Print a sentence beside the answer, on standard error."""
    err.print(text, style=style, soft_wrap=True)


def show_json(data: Any) -> None:
    """Print one JSON document on one line; times as ISO text."""
    sys.stdout.write(json.dumps(data, default=_plain, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def show_table(columns: Iterable[str], rows: Iterable[Iterable[Any]], title: str = "") -> None:
    """Print a table; numbers stand right, and what is None stays empty."""
    cells = [[_cell(value) for value in row] for row in rows]
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for at, column in enumerate(columns):
        numbers = bool(cells) and all(row[at].justify == "right" or not row[at] for row in cells)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    out.print(table)


def moment(value: datetime | None) -> str:
    """Show a time in UTC as 2013-03-05 10:05:00, with a fraction where there is one."""
    return value.replace(tzinfo=None).isoformat(" ") if value else ""


def count(number: int) -> Text:
    """Show a count with its thousands apart."""
    return Text(f"{number:,}", justify="right")


def progress(unit: str) -> Progress:
    """Give a progress bar on standard error that counts `unit` and shows their rate."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        Counted(unit),
        TimeRemainingColumn(compact=True),
        console=err,
    )


class Counted(ProgressColumn):
    """Show how many are done and how many a second, from the task's field `count`."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Give the text of one bar."""
        count, seconds = task.fields.get("count", 0), task.elapsed or 0
        rate = f" · {count / seconds:,.0f}/s" if seconds > RATE_SECONDS else ""
        return Text(f"{count:,} {self._unit}{rate}")


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, datetime):
        return Text(moment(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Text(str(value), justify="right")
    return Text("" if value is None else str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    raise TypeError(f"{type(value).__name__} is not JSON")
