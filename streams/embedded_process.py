"""Which server process runs for a data folder? Starts one, finds the one that runs, and ends it.

A server holds a lock on `<name>.lock` for as long as it lives (`embedded_hold`). The pid in
`<name>.json` is believed only while that lock is held: no dead or reused pid can mislead.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from streams.errors import ServerMissing

Answer = Literal["ready", "loading", "silent"]

#: Seconds a new server may stay silent: it is there in well under one, a busy machine needs more.
#: One that answers "loading" may go on: its append-only file can hold minutes of work.
PATIENCE = 30.0
#: Seconds between two looks at a server that starts or ends.
_LOOK = 0.02
#: Log lines of the server shown with a failure.
_LINES = 8
_HOLD = Path(__file__).with_name("embedded_hold.py")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its address, its pid, and whether it ran before the call that gave it."""

    name: str
    address: str
    pid: int
    identity: str
    folder: Path
    attached: bool
    grace: float
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False, compare=False)

    def alive(self) -> bool:
        """Return whether this very server still runs."""
        if self._process is not None:
            return self._process.poll() is None
        found = running(self.folder, self.name)
        return found is not None and (found.pid, found.identity) == (self.pid, self.identity)

    def stop(self) -> None:
        """End the server by SIGTERM, wait for it, and kill it once its grace is over."""
        self._signal(signal.SIGTERM)
        if not self._ended():
            self.kill()

    def kill(self) -> None:
        """End the server by SIGKILL, as a crash would, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        self._ended()

    def _signal(self, number: int) -> None:
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _ended(self) -> bool:
        deadline = time.monotonic() + self.grace
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK)
        return True


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start one server: `answers` asks whether it is ready, `advice` says what to do if not.

    `identity` is a text of this one start, by which `answers` can tell the server from another
    that took its port. `grace`: seconds for its end by SIGTERM.
    """

    name: str
    title: str
    folder: Path
    command: tuple[str, ...]
    address: str
    identity: str
    answers: Callable[[Server], Answer]
    advice: str
    config: bytes = b""
    environment: Mapping[str, str] | None = None
    grace: float = 30.0


def prepare(folder: Path) -> Path:
    """Make the data folder, for its owner only, and return its full path.

    Raises ServerMissing when it cannot be made, or when others may enter it and it is not empty.
    """
    folder = folder.expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            if any(folder.iterdir()):
                raise ServerMissing(
                    f"the data folder {folder} is open to other users and not empty: "
                    f"run `chmod 700 {folder}`, or name another folder"
                )
            folder.chmod(0o700)
    except OSError as error:
        raise ServerMissing(f"the data folder {folder} cannot be used: {error}") from error
    return folder


@contextmanager
def starting(folder: Path, name: str) -> Iterator[Server | None]:
    """Hold the right to start the server `name`; gives the server that runs already, or None.

    A second starter waits here until the first is done, then is given its server.
    """
    try:
        turn = os.open(folder / f"{name}.start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ServerMissing(f"the data folder {folder} cannot be used: {error}") from error
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        # A starter that was killed may have left a server that is about to tell its pid.
        while (server := running(folder, name)) is None and _held(folder, name):
            time.sleep(_LOOK)
        yield server
    finally:
        os.close(turn)


def running(folder: Path, name: str) -> Server | None:
    """Return the server `name` that runs for the folder, or None."""
    state = _state(folder, name) if _held(folder, name) else None
    if state is None:
        return None
    return Server(
        name, state["address"], state["pid"], state["identity"], folder, True, state["grace"]
    )


def last_address(folder: Path, name: str) -> str | None:
    """Return the address that the server `name` had when it last ran for the folder, or None."""
    state = _state(folder, name)
    return state["address"] if state else None


def start(launch: Launch) -> Server:
    """Start the server and wait until it is ready; call it inside `starting`.

    Raises ServerMissing, with the server's last log lines, when it ends or stays silent.
    """
    try:
        server = _spawn(launch)
    except OSError as error:
        raise ServerMissing(
            f"{launch.title} cannot be started: {error}. {launch.advice}"
        ) from error
    try:
        wait(launch, server)
    except BaseException:
        server.kill()
        raise
    return server


def wait(launch: Launch, server: Server) -> None:
    """Wait until the server is ready, for as long as it goes on loading.

    Raises ServerMissing when it ends, or is silent for longer than PATIENCE.
    """
    deadline = time.monotonic() + PATIENCE
    while (answer := _answer(launch, server)) != "ready":
        if not server.alive():
            raise ServerMissing(report(launch, "ended while it started"))
        if answer == "loading":
            deadline = time.monotonic() + PATIENCE
        elif time.monotonic() > deadline:
            raise ServerMissing(report(launch, f"did not answer for {PATIENCE:g} s"))
        time.sleep(_LOOK)


def report(launch: Launch, what: str) -> str:
    """Return the text of a failed start: what happened, the last log lines, and what to do."""
    log = launch.folder / f"{launch.name}.log"
    lines = log.read_text(errors="replace").splitlines()[-_LINES:] if log.exists() else []
    told = "\n".join(f"  | {line}" for line in lines) or "  | (it wrote nothing)"
    return f"{launch.title} {what}. Its last log lines ({log}):\n{told}\n{launch.advice}"


def _answer(launch: Launch, server: Server) -> Answer:
    # Until it holds the folder others would not find it, whatever it answers.
    return launch.answers(server) if running(launch.folder, launch.name) else "silent"


def _spawn(launch: Launch) -> Server:
    state = launch.folder / f"{launch.name}.json"
    state.unlink(missing_ok=True)
    facts = {"address": launch.address, "identity": launch.identity, "grace": launch.grace}
    lock = launch.folder / f"{launch.name}.lock"
    hold = [sys.executable, "-I", "-S", str(_HOLD), str(lock), str(state), json.dumps(facts)]
    process = _run(launch, [*hold, *launch.command])
    return Server(
        launch.name,
        launch.address,
        process.pid,
        launch.identity,
        launch.folder,
        False,
        launch.grace,
        process,
    )


def _run(launch: Launch, command: list[str]) -> subprocess.Popen[bytes]:
    log = launch.folder / f"{launch.name}.log"
    if log.exists():
        log.replace(log.with_suffix(".log.old"))
    log.touch(mode=0o600)
    # A session of its own: Ctrl-C ends the worker first, and the worker then ends the servers.
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=launch.folder,
            env=None if launch.environment is None else dict(launch.environment),
            start_new_session=True,
        )
    _tell(process, launch.config)
    return process


def _tell(process: subprocess.Popen[bytes], config: bytes) -> None:
    if process.stdin is not None:
        # One that ended at once takes no input: its log says why.
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(config)


def _held(folder: Path, name: str) -> bool:
    try:
        lock = os.open(folder / f"{name}.lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ServerMissing(f"the data folder {folder} cannot be used: {error}") from error
    try:
        fcntl.lockf(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _state(folder: Path, name: str) -> dict[str, Any] | None:
    try:
        return json.loads((folder / f"{name}.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return None
