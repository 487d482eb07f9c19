"""How tables, times and JSON come out, in a window and in a pipe."""

import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from streams import console


@pytest.fixture(name="printed")
def _printed(monkeypatch: pytest.MonkeyPatch) -> Console:
    """Give the console of answers as a pipe of 140 columns that keeps what is printed."""
    kept = Console(width=140, record=True, markup=False, highlight=False, emoji=False)
    monkeypatch.setattr(console, "out", kept)
    return kept


def test_a_table_lines_numbers_up_on_the_right(printed: Console) -> None:
    """Text stands left, None is empty, and data is never read as markup."""
    console.show_table(("name", "count"), [("[bold]a[/bold]", 5), (":smile:", 12345), (None, None)])

    lines = [line.rstrip() for line in printed.export_text().splitlines()]
    assert lines == ["name            count", "[bold]a[/bold]      5", ":smile:         12345", ""]


def test_a_sentence_is_not_broken(printed: Console) -> None:
    """A program that reads the pipe gets it on one line."""
    console.say("word " * 100)

    assert len(printed.export_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2013, 3, 5, 10, 5, tzinfo=UTC), "2013-03-05 10:05:00"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01 00:00:00"),
        (datetime(2013, 3, 5, 10, 5, 0, 250_000, tzinfo=UTC), "2013-03-05 10:05:00.250000"),
        (None, ""),
    ],
)
def test_a_time_is_shown_in_utc(moment: datetime | None, text: str) -> None:
    """With a fraction only where there is one."""
    assert console.moment(moment) == text


def test_json_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Times become ISO text, bytes text; other letters than ASCII stay."""
    console.show_json({"at": datetime(2013, 3, 5, tzinfo=UTC), "raw": b"\xff", "name": "Zürich"})

    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert json.loads(line) == {"at": "2013-03-05T00:00:00+00:00", "raw": "�", "name": "Zürich"}
    assert "Zürich" in line


def test_what_is_not_json_is_an_error() -> None:
    """It is not turned into some text that nobody can read back."""
    with pytest.raises(TypeError, match="object is not JSON"):
        console.show_json(object())


def test_counts_have_their_thousands_apart() -> None:
    """A count is read by people."""
    assert console.count(12594).plain == "12,594"
