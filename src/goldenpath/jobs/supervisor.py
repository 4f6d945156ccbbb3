"""The supervisor of one start of a local job: a process of its own session that outlives the launcher.

It is run by its path, in isolated mode, and imports the standard library alone, so that nothing of the
user's environment can break it:

    python -I supervisor.py FOLDER ATTEMPT GRACE_S TIMEOUT_S PROGRAM…

The launcher hands it an open, locked file: as long as the lock is held, the supervisor lives. It writes
``FOLDER/state.json`` when the program starts and again when it has ended; a state without an end and
with the lock free means that the supervisor died with its machine or by a SIGKILL.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

STATE_FILE = "state.json"
ATTEMPT_VARIABLE = "GOLDENPATH_JOB_ATTEMPT"

_POLL_S = 0.1
_KILL_S = 10.0  # A process inside a broken disk's driver cannot be killed: it is not waited for any longer.
_PROC = Path("/proc")


def main(folder: Path, attempt: str, grace_s: float, timeout_s: float, program: list[str]) -> int:
    """Runs the program to its end; SIGTERM stops it.

    Args:
        folder: Where the state is written.
        attempt: The name of this start, which the environment of all its processes holds.
        grace_s: Seconds from SIGTERM to SIGKILL.
        timeout_s: Seconds that the program may run; 0 for no limit.
        program: Its arguments.
    """
    stopped: list[int] = []

    def stop(signum: int, _frame: FrameType | None) -> None:
        stopped.append(signum)

    signal.signal(signal.SIGTERM, stop)
    state: dict[str, Any] = {"pid": os.getpid(), "started_at": time.time()}
    # A group of its own, so that one signal reaches the program and not the supervisor.
    process = subprocess.Popen(program, process_group=0)
    _write(folder, state)
    deadline = time.monotonic() + timeout_s if timeout_s else float("inf")
    ended = "exited"
    code = _wait(process, until=deadline, stopped=stopped)
    if code is None:
        ended = "stopped" if stopped else "timeout"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        code = _wait(process, until=time.monotonic() + grace_s, stopped=[])
    # torchrun's workers have sessions of their own, and what the program left running ends with it.
    kill_processes(attempt)
    code = process.wait() if code is None else code
    _write(folder, {**state, "finished_at": time.time(), "ended": ended, "exit_code": code})
    return 0


def kill_processes(attempt: str) -> int:
    """Kills every process of one start but this one, and tells how many there were.

    They are known by their environment, whatever became of their parents, groups and sessions. Where
    there is no ``/proc``, the answer is 0.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + _KILL_S
    while (pids := processes_of(attempt)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(_POLL_S / 2)
    return len(killed)


def processes_of(attempt: str) -> list[int]:
    """The running processes of one start, without this one."""
    mark = f"{ATTEMPT_VARIABLE}={attempt}".encode()
    found = []
    for folder in _PROC.glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        try:
            # Of a zombie the environment is empty: it has ended, and waits for its parent only.
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # It ended meanwhile, or is somebody else's.
    return found


def _wait(process: subprocess.Popen[bytes], *, until: float, stopped: list[int]) -> int | None:
    """The program's exit code, or None at the time ``until`` or once ``stopped`` holds a signal."""
    while time.monotonic() < until and not stopped:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(_POLL_S)
    return process.poll()


def _write(folder: Path, state: dict[str, Any]) -> None:
    scratch = folder / f"{STATE_FILE}.tmp"
    scratch.write_text(json.dumps(state), encoding="utf-8")
    scratch.replace(folder / STATE_FILE)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), sys.argv[5:]))
