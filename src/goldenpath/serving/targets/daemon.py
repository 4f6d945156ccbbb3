"""Background processes that outlive the command that started them.

A process is known by its id and its command line, which names a folder of this service: an id that
another program got meanwhile is never taken for ours.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_START = '"$@" >>"$GOLDENPATH_LOG" 2>&1 </dev/null & echo "$!" >"$GOLDENPATH_PID_FILE"'
_POLL_S = 0.05


def start(
    command: Sequence[str], *, pid_file: Path, log: Path, environ: Mapping[str, str], fds: Sequence[int] = ()
) -> None:
    """Starts a command in a session of its own; the shell between writes its id and ends.

    The id is on disk even if this process is killed in the middle: the shell lives on to write it.
    """
    subprocess.run(
        ["/bin/sh", "-c", _START, "sh", *command],
        env={**environ, "GOLDENPATH_LOG": str(log), "GOLDENPATH_PID_FILE": str(pid_file)},
        pass_fds=fds,
        start_new_session=True,
        check=True,
    )


def alive(pid_file: Path, *, marker: str) -> int | None:
    """The id of the process that a file names, if it lives and its command line holds the marker."""
    try:
        pid = int(pid_file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if marker in _command_line(pid) else None


def stop(pid_file: Path, *, marker: str, grace_s: float) -> None:
    """Ends a process: SIGTERM, and SIGKILL after the grace. A dead one is no error."""
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
        pid = alive(pid_file, marker=marker)
        if pid is None:
            break
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + wait_s
        while alive(pid_file, marker=marker) is not None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
    pid_file.unlink(missing_ok=True)


def last_lines(log: Path, *, count: int = 5) -> str:
    """The end of a log, for messages."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return " | ".join(line.strip() for line in lines[-count:] if line.strip())


def _command_line(pid: int) -> str:
    """A process's command line; empty for one that is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        pass
    if Path("/proc/self").exists():
        return ""
    # Where there is no /proc, as on macOS.
    done = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)],  # noqa: S607  (ps is found by PATH on purpose)
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout
