"""How log records look: a line for people, or a JSON object for programs."""

import json
import logging
from collections.abc import Iterator

import pytest

from streams import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Leave the root logger as it was."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before


def test_json_lines_hold_time_level_logger_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    """One object a line, also for a message with line breaks."""
    logs.configure(as_json=True)

    logging.getLogger("streams.x").warning("one\n%s", "two")

    line = capsys.readouterr().err
    entry = json.loads(line)
    assert line.count("\n") == 1
    assert (entry["level"], entry["logger"]) == ("warning", "streams.x")
    assert entry["message"] == "one\ntwo"
    assert entry["time"].endswith("+00:00")


def test_json_lines_hold_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback is in the object, not in lines of its own."""
    logs.configure(as_json=True)

    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("streams.x").exception("failed")

    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "ValueError: broken" in json.loads(line)["error"]


def test_readable_lines_are_short(capsys: pytest.CaptureFixture[str]) -> None:
    """Time of day, level and message."""
    logs.configure(as_json=False)

    logging.getLogger("streams.x").info("started")

    assert capsys.readouterr().err[8:] == " INFO    started\n"


def test_the_chatter_of_the_clients_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """What they warn of is shown."""
    logs.configure(as_json=False)

    logging.getLogger("aiokafka.consumer").info("joined")
    logging.getLogger("aiokafka.consumer").warning("lost")

    assert capsys.readouterr().err[8:] == " WARNING lost\n"
