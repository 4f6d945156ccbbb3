"""Progress on a terminal, with rich; plain lines where there is none. All of it on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from goldenpath.progress import Advance, Reporter, reported_by

_WORTH_TELLING_S = 1.0


class _Terminal:
    """A live display: one bar a piece of work."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    @contextlib.contextmanager
    def task(self, title: str, total: float | None, unit: str) -> Iterator[Advance]:  # noqa: ARG002
        """Shows a bar until the work ends."""
        task = self.progress.add_task(escape(title), total=total)
        try:
            yield lambda amount: self.progress.advance(task, amount)
        finally:
            self.progress.remove_task(task)

    def note(self, text: str) -> None:
        """Prints a line above the bars."""
        self.progress.console.print(escape(text), highlight=False)


class _Lines:
    """For logs and pipes: lines alone."""

    @contextlib.contextmanager
    def task(self, title: str, total: float | None, unit: str) -> Iterator[Advance]:  # noqa: ARG002
        """Prints a line at the end of work that took over a second."""
        started = time.monotonic()
        yield lambda _amount: None
        if (took := time.monotonic() - started) > _WORTH_TELLING_S:
            self.note(f"{title}: {took:.1f} s")

    def note(self, text: str) -> None:
        """Prints the line."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Shows the progress of the code inside."""
    console = Console(stderr=True)
    if not console.is_terminal:
        lines: Reporter = _Lines()
        with reported_by(lines):
            yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with (
        Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress,
        reported_by(_Terminal(progress)),
    ):
        yield
