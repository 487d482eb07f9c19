"""The parts of the demo: which settings suit it, how refusals are grouped, a worker that ends."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streams import demo, settings
from streams.dead_letters import DeadLetter
from streams.errors import ServerMissing, UsageError


def forever(look: Callable[[], None]) -> None:
    """Look again and again."""
    while True:
        look()


def letter(reason: str, detail: str) -> DeadLetter:
    """Make a dead letter."""
    error = {"reason": reason, "detail": detail}
    return DeadLetter(0, 0, 0, None, b"{}", error, ())


def test_refusals_are_grouped_by_cause() -> None:
    """What is quoted, and numbers, make no other cause; other words do. Large groups first."""
    groups = demo.grouped(
        [
            letter("invalid", "'24:00' is not a time"),
            letter("schema", '"t" is missing'),
            letter("invalid", "'25:00' is not a time"),
            letter("invalid", "the key has 201 characters"),
        ]
    )

    shown = [(group.count, group.example.error["detail"]) for group in groups]
    assert shown == [
        (2, "'24:00' is not a time"),
        (1, '"t" is missing'),
        (1, "the key has 201 characters"),
    ]


def test_the_example_suits_the_demo_and_others_do_not(tmp_path: Path) -> None:
    """Settings need the kind with its relations."""
    other = tmp_path / "lighthouse.toml"
    other.write_text('[kinds.Plane]\nkey = "tail"\n')

    assert demo.suited(settings.load(settings.EXAMPLE)).kind == "Plane"
    with pytest.raises(UsageError, match="no kind Plane with the relations BASED_AT, FLOWN_BY"):
        demo.suited(settings.load(other))


def test_a_worker_that_ends_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    """Nobody waits for a worker that is gone."""
    script = "import sys; print('first'); sys.exit('no disk')"
    with (
        demo.worker([sys.executable, "-c", script], tmp_path / "log") as alive,
        pytest.raises(ServerMissing, match=r"the worker ended \(1\).*\n(first\n)?no disk"),
    ):
        forever(alive)


def test_a_worker_is_ended_with_the_demo(tmp_path: Path) -> None:
    """By SIGTERM, which it has time to follow."""
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(print('ended well')))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    log = tmp_path / "data" / "log"

    with demo.worker([sys.executable, "-c", script], log) as alive:
        while "ready" not in log.read_text():
            alive()

    assert log.read_text() == "ready\nended well\n"


def test_a_refused_receipt_gives_way_to_a_stored_one() -> None:
    """Other records' receipts are not counted."""
    answers = demo.Answers(sent={(0, 1), (0, 2)})
    same = {"topic": "t", "partition": 0, "key": "a"}

    for offset, status in ((1, "failed"), (1, "inserted"), (1, "unchanged"), (3, "created")):
        demo.keep(answers, same | {"offset": offset, "status": status}, "t")
    demo.keep(answers, same | {"offset": 2, "status": "created", "topic": "other"}, "t")

    assert answers.statuses() == [("inserted", 1)]
    assert (answers.late("a"), answers.late("b")) == (1, 0)
