"""How does a server hold its data folder? This program takes the lock and becomes the server.

A POSIX record lock belongs to one process: it stays through `exec`, goes with the process however
that ends, and is not shared with children: a rewrite of FalkorDB's append-only file may outlive a
killed server.
Run as `python -I -S embedded_hold.py LOCK STATE FACTS COMMAND...`; standard input is the server's.
"""

import fcntl
import json
import os
import sys
from pathlib import Path


def hold(lock: str, state: Path, facts: dict, command: list[str]) -> None:
    """Take the lock, write the facts and the pid to the state file, and turn into the command.

    Returns only by an exception: OSError when the command cannot be run.
    """
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(handle, fcntl.LOCK_EX)
    os.set_inheritable(handle, True)
    part = state.with_suffix(".json.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_text(json.dumps(facts | {"pid": os.getpid()}))
    part.replace(state)
    os.execv(command[0], command)


if __name__ == "__main__":
    try:
        hold(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:])
    except OSError as error:
        sys.exit(f"cannot run {sys.argv[4]}: {error}")
