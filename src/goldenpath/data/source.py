"""Where a snapshot's bytes come from: entries in the order of rows, and a way to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from goldenpath.errors import Temporary


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, link or empty folder as it was found. ``size`` in bytes."""

    path: str
    size: int = 0
    mode: int = 0
    stamp: str = ""
    """Equal stamps mean equal content; empty where nothing is that sure."""
    settled: bool = True
    """Whether the stamp can be trusted later: not where the file changed too near the scan."""
    link: str = ""
    folder: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return not self.link and not self.folder


class Source(Protocol):
    """A folder, a file or an object prefix."""

    name: str
    """What people call it: a path or URL."""

    def entries(self) -> Iterator[Entry]:
        """Everything that is in the source, ordered as rows are."""

    def read_whole(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """The content of small files, in the given order, each with its entry as it was when read."""

    def read_block(self, entry: Entry, start: int, length: int) -> bytes:
        """A part of a large file; from several threads at once."""


def changed(source: str, paths: Sequence[str]) -> Temporary:
    """The error for files that changed or vanished while they were read."""
    shown = ", ".join(repr(path) for path in paths[:5]) + (" …" if len(paths) > 5 else "")
    return Temporary(
        f"{len(paths)} file{'s' * (len(paths) > 1)} of {source} changed or vanished while they were read: "
        f"{shown}.",
        next_step="Take the snapshot when nothing writes there, or leave them out (options.exclude).",
    )
