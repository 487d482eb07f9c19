"""One server for each data folder: found by its lock, ended for good, its failures told."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streams import embedded_process as process
from streams.embedded_process import Answer, Launch, Server
from streams.errors import ServerMissing
from tests import servers

Start = Callable[..., Server]


def ready(server: Server) -> Answer:
    """Answer for a program that needs no time to start."""
    return "ready"


def launch(folder: Path, script: str, **options: object) -> Launch:
    """Describe a shell script that stands for a server."""
    parts = {"answers": ready, "advice": "What to do: nothing.", "grace": 5.0} | options
    command = ("/bin/sh", "-c", script)
    return Launch("toy", "The toy", folder, command, "toy:1", "me", **parts)  # type: ignore[arg-type]


@pytest.fixture(name="start")
def _start(data: Path) -> Iterator[Start]:
    started: list[Server] = []

    def start(script: str = "exec sleep 60", **options: object) -> Server:
        with process.starting(data, "toy") as server:
            started.append(server or process.start(launch(data, script, **options)))
        return started[-1]

    yield start
    for server in started:
        server.kill()


def test_a_new_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    """A data folder that is not there is made with mode 0700, and so becomes an empty one."""
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)

    made = [process.prepare(tmp_path / "new" / "data"), process.prepare(there)]

    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700, 0o700]


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    """A folder with files that others may enter is refused with what to type, and not changed."""
    tmp_path.chmod(0o755)
    (tmp_path / "a-file").touch()

    with pytest.raises(ServerMissing, match="chmod 700"):
        process.prepare(tmp_path)
    for nowhere in (tmp_path / "a-file", tmp_path / "a-file" / "data"):
        with pytest.raises(ServerMissing, match=f"{nowhere} cannot be used: "):
            process.prepare(nowhere)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_server_runs_once_for_a_folder(start: Start, data: Path) -> None:
    """A second start gives the server that runs, marked as attached."""
    first = start()

    second = start()

    assert (first.attached, second.attached) == (False, True)
    assert second == process.running(data, "toy")
    assert (second.pid, second.address, second.identity) == (first.pid, "toy:1", "me")


def test_starters_at_once_start_one(data: Path) -> None:
    """Of processes that start at once one starts the server, and the others are given it."""
    program = (
        "import sys; from pathlib import Path; from streams import embedded_process as p;"
        "from tests.streams.test_embedded_process import launch\n"
        "folder = Path(sys.argv[1])\n"
        "with p.starting(folder, 'toy') as server:\n"
        "    server = server or p.start(launch(folder, 'exec sleep 60'))\n"
        "print(server.pid, server.attached)"
    )
    command = [sys.executable, "-c", program, str(data)]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    told = [starter.communicate()[0].split() for starter in starters]

    server = process.running(data, "toy")
    assert server is not None
    server.kill()
    assert {pid for pid, _ in told} == {str(server.pid)}
    assert sorted(attached for _, attached in told) == ["False", "True", "True", "True"]


def test_a_dead_server_is_not_found(start: Start, data: Path) -> None:
    """After SIGKILL from outside its state file is left, but nothing counts as running."""
    server = start()
    os.kill(server.pid, signal.SIGKILL)
    servers.wait_until(lambda: not server.alive())

    assert (data / "toy.json").exists()
    assert process.running(data, "toy") is None
    assert start().attached is False


def test_a_reused_pid_is_not_taken_for_the_server(start: Start, data: Path) -> None:
    """A state file that names the process of another program misleads nobody, and ends nothing."""
    start().kill()
    bystander = subprocess.Popen(["/bin/sleep", "60"])
    state = {"pid": bystander.pid, "address": "toy:1", "identity": "me", "grace": 1.0}
    (data / "toy.json").write_text(json.dumps(state))
    stale = Server("toy", "toy:1", bystander.pid, "me", data, attached=True, grace=1.0)

    stale.kill()

    assert process.running(data, "toy") is None
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_child_does_not_hold_the_folder(start: Start, data: Path) -> None:
    """A child that outlives the server, as a rewrite of its file may, is not the server."""
    child = data / "child"
    server = start(f"sleep 60 & echo $! > {child}.part; mv {child}.part {child}; wait")
    servers.wait_until(child.exists)

    server.kill()

    pid = int(child.read_text())
    os.kill(pid, 0)
    assert process.running(data, "toy") is None
    os.kill(pid, signal.SIGKILL)


def test_stop_waits_for_the_end(start: Start) -> None:
    """SIGTERM lets the server finish; stop comes back when it is gone."""
    server = start("trap 'sleep 0.3; exit 0' TERM; while :; do sleep 0.05; done")
    time.sleep(0.2)  # the trap is set by then
    started = time.monotonic()

    server.stop()

    assert not server.alive()
    assert 0.2 < time.monotonic() - started < 4


def test_stop_kills_what_does_not_end(start: Start) -> None:
    """A server that ignores SIGTERM is killed when its grace is over."""
    server = start("trap '' TERM; while :; do sleep 0.05; done", grace=0.4)
    time.sleep(0.2)

    server.stop()

    assert not server.alive()


def test_stop_ends_a_server_of_another_process(start: Start, data: Path) -> None:
    """An attached server can be ended as well."""
    start()
    attached = process.running(data, "toy")
    assert attached is not None

    attached.stop()

    assert process.running(data, "toy") is None
    attached.stop()  # a second time does nothing


def test_a_failed_start_shows_the_log(start: Start, data: Path) -> None:
    """A server that ends at once is told with its last lines and what to do."""
    with pytest.raises(ServerMissing) as caught:
        start("echo first; echo no room left >&2; exit 3", answers=lambda server: "silent")

    assert "The toy ended while it started" in str(caught.value)
    assert "  | no room left\n" in str(caught.value)
    assert "What to do: nothing." in str(caught.value)
    assert process.running(data, "toy") is None


def test_a_silent_server_is_ended(
    start: Start, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that runs and never answers is given up and ended: nothing is left behind."""
    monkeypatch.setattr(process, "PATIENCE", 0.2)

    with pytest.raises(ServerMissing, match=r"The toy did not answer for 0\.2 s"):
        start(answers=lambda server: "silent")

    assert process.running(data, "toy") is None


def test_loading_takes_its_time(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says it is loading is waited for, for longer than a silent one."""
    monkeypatch.setattr(process, "PATIENCE", 1.5)
    begun = time.monotonic()

    def loads(server: Server) -> Answer:
        return "loading" if time.monotonic() < begun + 2 else "ready"

    assert start(answers=loads).alive()
    assert time.monotonic() > begun + 2


def test_a_program_that_is_not_there_is_told(data: Path) -> None:
    """A command that cannot be run is told by name."""
    missing = Launch(
        "toy", "The toy", data, ("/no/such/file",), "", "", lambda server: "silent", ""
    )

    with (
        process.starting(data, "toy"),
        pytest.raises(ServerMissing, match=r"cannot run /no/such/file: .*No such file"),
    ):
        process.start(missing)


def test_files_are_for_their_owner_only(start: Start, data: Path) -> None:
    """State, log and locks may hold addresses with passwords, and others cannot read them."""
    start(config=b"")

    assert {file.stat().st_mode & 0o077 for file in data.iterdir()} == {0}


def test_the_log_of_the_last_run_is_kept(start: Start, data: Path) -> None:
    """A new start has a new log, and the one before stays beside it."""
    start("echo one; exec sleep 60")
    servers.wait_until(lambda: (data / "toy.log").read_text() == "one\n")
    start().kill()

    start("exec sleep 60")

    assert (data / "toy.log.old").read_text() == "one\n"
    assert (data / "toy.log").read_text() == ""
