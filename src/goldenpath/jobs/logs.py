"""What a job's log tells: progress while it runs, and the program's own last words."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

PROGRESS_MARK = "goldenpath: "
"""Before each line of ``TrainingRun.progress``."""

_TAIL_BYTES = 256 * 1024
_SHOWN_LINES = 20
_RANK_LINE = re.compile(r"\[rank (\d+)\] (?:\[rank\d+\]: ?)?(.*)")
_ROOT_CAUSE = re.compile(
    r"^Root Cause.*?^\s+rank\s+: (\d+).*?^\s+exitcode\s+: (-?\d+)", re.MULTILINE | re.DOTALL
)
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, kw_only=True)
class LastWords:
    """Where a program failed first, and what it said there."""

    rank: int | None
    """None for a program of one plain process, and where torchrun itself failed."""
    exit_code: int
    """As Python has it: negative for a signal."""
    lines: tuple[str, ...]


def last_words(log: str, *, exit_code: int) -> LastWords:
    """Finds the rank that failed first, and its last lines; torchrun's own lines are left out.

    Args:
        log: The end of the log, all ranks together.
        exit_code: The exit code of the program, or of torchrun, which knows only 1.
    """
    by_rank: dict[int, list[str]] = {}
    all_ranks: list[str] = []
    for line in log.splitlines():
        match = _RANK_LINE.fullmatch(line)
        if match:
            by_rank.setdefault(int(match[1]), []).append(match[2])
            all_ranks.append(line)
    cause = _ROOT_CAUSE.search(log)
    if cause:
        rank = int(cause[1])
        return LastWords(rank=rank, exit_code=int(cause[2]), lines=_last(by_rank.get(rank, [])))
    failed = [rank for rank, lines in by_rank.items() if any(_TRACEBACK in line for line in lines)]
    if failed:
        return LastWords(rank=failed[0], exit_code=exit_code, lines=_last(by_rank[failed[0]]))
    return LastWords(rank=None, exit_code=exit_code, lines=_last(all_ranks or log.splitlines()))


def exit_sentence(code: int) -> str:
    """What an exit code says: ``ended with exit code 1``, ``was killed by SIGKILL``."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    cause = ", as the kernel does when memory runs out" if -code == signal.SIGKILL else ""
    return f"was killed by {name}{cause}"


def progress_of(line: str) -> str | None:
    """The text of a progress line, or None for any other line."""
    match = _RANK_LINE.fullmatch(line)
    text = match[2] if match else line
    return text.removeprefix(PROGRESS_MARK) if text.startswith(PROGRESS_MARK) else None


def tail(path: Path) -> str:
    """The end of a log."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


class Follower:
    """Reads a growing log: each call gives the whole lines that came since the last one."""

    def __init__(self, path: Path, *, at_end: bool = False) -> None:
        self._path = path
        self._position = path.stat().st_size if at_end and path.exists() else 0
        self._rest = b""

    def lines(self) -> list[str]:
        """The new lines."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read(_TAIL_BYTES)
        except FileNotFoundError:
            return []
        self._position += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in whole]


def _last(lines: list[str]) -> tuple[str, ...]:
    starts = [number for number, line in enumerate(lines) if _TRACEBACK in line]
    chosen = lines[starts[-1] :] if starts else lines
    return tuple(line for line in chosen if line.strip())[-_SHOWN_LINES:]
