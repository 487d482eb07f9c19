"""An outage costs time: tries go on until the server answers or the work is to be given up."""

import logging
import time

import pytest

from streams import pressure
from streams.pressure import Abandoned, Pressure


@pytest.fixture(name="quick", autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(pressure, "LONGEST_WAIT_SECONDS", 0.05)


def failing(times: int, error: Exception) -> tuple[list[int], object]:
    """Make an action that fails a number of times, then answers; and the list of its calls."""
    calls: list[int] = []

    def action() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "done"

    return calls, action


def test_an_outage_is_waited_for_and_told_twice(caplog: pytest.LogCaptureFixture) -> None:
    """However many tries fail, the log says once that a server is away and once that it is back."""
    calls, action = failing(5, ConnectionError("refused"))
    retried: list[str] = []
    caplog.set_level(logging.INFO)

    answer = Pressure(lambda: False, retried.append).until_done("FalkorDB", action, (OSError,))

    assert answer == "done"
    assert len(calls) == 6
    assert retried == ["FalkorDB"] * 5
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "refused" in caplog.text


def test_a_server_that_works_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    """Without a failed try the log stays empty."""
    caplog.set_level(logging.INFO)

    assert Pressure(lambda: False).until_done("FalkorDB", lambda: 1, (OSError,)) == 1
    assert caplog.records == []


def test_other_errors_come_through_at_once() -> None:
    """An error that is no outage is not tried again."""
    calls, action = failing(1, ValueError("not a time"))

    with pytest.raises(ValueError, match="not a time"):
        Pressure(lambda: False).until_done("FalkorDB", action, (OSError,))

    assert len(calls) == 1


def test_waiting_ends_when_the_work_is_given_up() -> None:
    """A stop during an outage ends the waiting, and the server still counts as away."""
    until = time.monotonic() + 0.2
    held = Pressure(lambda: time.monotonic() > until)
    _, action = failing(10**9, ConnectionError())

    with pytest.raises(Abandoned):
        held.until_done("the broker", action, (OSError,))

    assert time.monotonic() < until + 1
    assert list(held.down()) == ["the broker"]


def test_down_names_a_server_only_while_it_is_away() -> None:
    """Readiness sees a server from its first failed try until the first that works."""
    seen: list[dict[str, float]] = []
    held = Pressure(lambda: False, lambda server: seen.append(held.down()))
    _, action = failing(2, ConnectionError())

    held.until_done("FalkorDB", action, (OSError,))

    assert [list(each) for each in seen] == [[], ["FalkorDB"]]
    assert held.down() == {}
