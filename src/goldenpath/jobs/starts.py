"""The starts of a local job: a folder each, and a supervisor that lives as long as it holds a lock.

<work_dir>/starts/<number>-<attempt>/
    start.json   the digest of what runs
    lock         held by the supervisor
    state.json   written by the supervisor: pid, times, exit code
    log.txt      what the program printed
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from goldenpath.errors import Temporary
from goldenpath.jobs import supervisor
from goldenpath.jobs.spec import StartRecord
from goldenpath.provenance import new_attempt

_POLL_S = 0.05
_MARGIN_S = 10.0
_STARTUP_S = 30.0


@dataclass(frozen=True, kw_only=True)
class StartState:
    """What the supervisor has told. Times in seconds since the epoch."""

    pid: int
    started_at: float
    finished_at: float | None = None
    ended: Literal["exited", "timeout", "stopped"] | None = None
    """None while it runs; and for ever, if the supervisor was killed."""
    exit_code: int | None = None
    """Of the program; negative for a signal."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """One start of a job's program."""

    number: int
    attempt: str
    folder: Path

    @property
    def log(self) -> Path:
        """What the program printed."""
        return self.folder / "log.txt"

    @property
    def name(self) -> str:
        """``<number>-<attempt>``: names sort by time."""
        return self.folder.name

    def digest(self) -> str:
        """The digest of the specification that was started; empty if it was killed before."""
        try:
            return str(json.loads((self.folder / "start.json").read_bytes())["digest"])
        except (FileNotFoundError, ValueError, KeyError):
            return ""

    def state(self) -> StartState | None:
        """What the supervisor wrote, or None if it did not come to that."""
        try:
            return StartState(**json.loads((self.folder / supervisor.STATE_FILE).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def alive(self) -> bool:
        """Whether the supervisor lives. A pid may be another process's by now; a lock cannot."""
        try:
            descriptor = os.open(self.folder / "lock", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def record(self) -> StartRecord | None:
        """When the program ran, or None if it never did.

        Where the end was not recorded, it is the time of the last line.
        """
        state = self.state()
        if state is None:
            return None
        end = state.finished_at or self.log.stat().st_mtime
        return StartRecord(
            attempt=self.attempt, started_at=state.started_at, finished_at=max(end, state.started_at)
        )

    def stop(self, *, grace_s: float) -> None:
        """Ends the program: SIGTERM, the grace, SIGKILL. Returns when no process of it is left.

        A KeyboardInterrupt meanwhile ends the grace.
        """
        try:
            state = self._started()
            if state is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(state.pid, signal.SIGTERM)
                self._until_dead(grace_s + _MARGIN_S)
        finally:
            supervisor.kill_processes(self.attempt)

    def _started(self) -> StartState | None:
        deadline = time.monotonic() + _STARTUP_S
        while self.alive() and time.monotonic() < deadline:
            state = self.state()
            if state is not None:
                return state
            time.sleep(_POLL_S)
        return None

    def _until_dead(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.alive() and time.monotonic() < deadline:
            time.sleep(_POLL_S)


def list_starts(work_dir: Path) -> list[Start]:
    """All starts of the step's job, the oldest first."""
    found = []
    for folder in sorted((work_dir / "starts").glob("*-*")):
        number, _, attempt = folder.name.partition("-")
        found.append(Start(number=int(number), attempt=attempt, folder=folder))
    return found


def new_start(work_dir: Path, *, digest: str) -> Start:
    """Makes the folder of the next start."""
    earlier = list_starts(work_dir)
    number = earlier[-1].number + 1 if earlier else 1
    attempt = new_attempt()
    folder = work_dir / "starts" / f"{number:04d}-{attempt}"
    folder.mkdir(parents=True)
    (folder / "start.json").write_text(json.dumps({"digest": digest}), encoding="utf-8")
    return Start(number=number, attempt=attempt, folder=folder)


def launch(
    start: Start,
    program: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    grace_s: float,
    timeout_s: float,
) -> subprocess.Popen[bytes]:
    """Starts the supervisor, which starts the program."""
    command = [
        sys.executable, "-I", supervisor.__file__,
        str(start.folder), start.attempt, str(grace_s), str(timeout_s), *program,
    ]  # fmt: skip
    lock = os.open(start.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        # Locked here and handed down open: there is no moment in which the job lives unlocked.
        fcntl.flock(lock, fcntl.LOCK_EX)
        with start.log.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                pass_fds=[lock],
            )
    finally:
        os.close(lock)


@contextlib.contextmanager
def only_launcher(work_dir: Path) -> Iterator[None]:
    """Holds the step against other launchers on this machine.

    Raises:
        Temporary: Another one holds it.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(work_dir / "launcher.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Temporary(
                f"Another process runs the job of {work_dir}.", next_step="Wait for it, or stop it."
            ) from None
        yield
    finally:
        os.close(descriptor)
