"""Where the program's own options may stand on the line."""

from pathlib import Path

import pytest

from streams.cli_context import Invocation, hoisted


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("status --config a.toml", "--config a.toml status"),
        ("status --config=a.toml --json", "--config=a.toml status --json"),
        ("worker --log-json --group g", "--log-json worker --group g"),
        ("--config a.toml status", "--config a.toml status"),
        ("status -- --config a.toml", "status -- --config a.toml"),
        ("status --config", "--config status"),
        ("status --configure x", "status --configure x"),
    ],
)
def test_the_programs_options_may_stand_anywhere(given: str, taken: str) -> None:
    """They are moved before the command; what comes after -- stays."""
    assert hoisted(given.split()) == taken.split()


def test_options_are_handed_on_to_a_worker_beside() -> None:
    """It reads the same settings and logs in the same form."""
    assert Invocation(Path("a.toml"), True).arguments() == ["--config", "a.toml", "--log-json"]
    assert Invocation(None, False).arguments() == []
