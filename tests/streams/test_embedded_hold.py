"""The program that takes a folder's lock, tells its pid, and becomes the server."""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from streams import embedded_hold

HOLD = [sys.executable, "-I", "-S", embedded_hold.__file__]


def test_it_becomes_the_command(tmp_path: Path) -> None:
    """The command has the pid that the state file tells, its standard input, and the lock."""
    lock, state = tmp_path / "lock", tmp_path / "x.json"
    command = [
        *HOLD,
        str(lock),
        str(state),
        '{"address": "a"}',
        "/bin/sh",
        "-c",
        "read x; echo $$ $x",
    ]

    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        while not state.exists():
            assert server.poll() is None
        with lock.open("r+") as handle, pytest.raises(BlockingIOError):
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        told, _ = server.communicate("input\n")

    assert told.split() == [str(server.pid), "input"]
    assert json.loads(state.read_bytes()) == {"address": "a", "pid": server.pid}
    with lock.open("r+") as handle:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_command_that_cannot_run_is_named(tmp_path: Path) -> None:
    """It ends with one line that says which command, and why."""
    command = [*HOLD, str(tmp_path / "lock"), str(tmp_path / "x.json"), "{}", "/no/such/file"]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.startswith("cannot run /no/such/file: ")
    assert len(ended.stderr.splitlines()) == 1
