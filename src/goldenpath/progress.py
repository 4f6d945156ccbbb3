"""Progress: what long work tells about itself, whoever listens.

Library code calls ``task`` and ``note``; the CLI shows them with rich, everything else as log lines.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Protocol

from goldenpath.masking import masked

log = logging.getLogger("goldenpath")

Advance = Callable[[float], None]


class Reporter(Protocol):
    """Shows progress. ``total`` is None where the amount of work is not known."""

    def task(self, title: str, total: float | None, unit: str) -> AbstractContextManager[Advance]:
        """Shows one piece of work until its context ends."""

    def note(self, text: str) -> None:
        """Shows one line."""


class LogReporter:
    """The default: a line when work starts."""

    @contextlib.contextmanager
    def task(self, title: str, total: float | None, unit: str) -> Iterator[Advance]:
        """Logs the start."""
        log.debug("%s (%s %s)", title, total, unit)
        yield lambda _amount: None

    def note(self, text: str) -> None:
        """Logs the line."""
        log.info("%s", text)


_reporter: ContextVar[Reporter | None] = ContextVar("goldenpath_reporter", default=None)
_fallback = LogReporter()


def task(title: str, *, total: float | None = None, unit: str = "") -> AbstractContextManager[Advance]:
    """Tells of a piece of work; the context gives the function that advances it."""
    return (_reporter.get() or _fallback).task(title, total, unit)


def note(text: str) -> None:
    """One line for whoever watches, such as "Waiting in queue team-a, place 3"; credentials are masked."""
    (_reporter.get() or _fallback).note(masked(text))


@contextlib.contextmanager
def reported_by(reporter: Reporter) -> Iterator[None]:
    """Sends progress to ``reporter`` inside the context."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)
