"""The cache of a source's rows: what has the stamp it had last time is not read again.

One text file a source: a line an entry, ``<stamp> <row>``, in the order of rows, so that it is read
and written in step with the walk and never held in memory. It only saves time: a lost or damaged one
is as good as none, for a digest that the store does not know is computed again.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from goldenpath.data.rows import order
from goldenpath.data.source import Entry
from goldenpath.provenance import sha256_hex

_HEADER = b"goldenpath rows 1\n"
_ABANDONED_S = 7 * 24 * 3600


class RowCache:
    """The cached rows of one source, read in order, and written anew beside the old ones."""

    def __init__(self, folder: Path | None, source: str) -> None:
        self._path = None if folder is None else folder / "data" / "rows" / sha256_hex(source.encode())[:32]
        self._old: Iterator[tuple[str, str, bytes]] = iter(())
        self._ahead: tuple[str, str, bytes] | None = None
        self._new: IO[bytes] | None = None

    def __enter__(self) -> RowCache:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(self._path.parent)
            self._old = _lines(self._path)
            self._ahead = next(self._old, None)
            self._new = tempfile.NamedTemporaryFile(dir=self._path.parent, prefix=".", delete=False)
            self._new.write(_HEADER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._new is None or self._path is None:
            return
        self._new.close()
        if kind is None:
            Path(self._new.name).replace(self._path)
        else:
            Path(self._new.name).unlink(missing_ok=True)

    def row(self, entry: Entry) -> bytes | None:
        """The row of an entry whose stamp is the cached one. Ask in the order of rows."""
        wanted = order(entry.path)
        while self._ahead is not None and self._ahead[0] < wanted:
            self._ahead = next(self._old, None)
        if self._ahead is None or self._ahead[0] != wanted or not entry.stamp:
            return None
        return self._ahead[2] if self._ahead[1] == entry.stamp else None

    def keep(self, entry: Entry, row: bytes) -> None:
        """Caches a row for next time, if its stamp is one to trust."""
        if self._new is not None and entry.settled and entry.stamp and " " not in entry.stamp:
            self._new.write(b"%b %b\n" % (entry.stamp.encode(), row))


def _remove_abandoned(folder: Path) -> None:
    """Removes what killed snapshots were writing."""
    for path in folder.glob(".*"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - _ABANDONED_S:
                path.unlink()


def _lines(path: Path) -> Iterator[tuple[str, str, bytes]]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        if file.readline() != _HEADER:
            return
        for line in file:
            stamp, _, row = line.rstrip(b"\n").partition(b" ")
            try:
                yield order(json.loads(row)["path"]), stamp.decode(), row
            except (ValueError, KeyError, TypeError, AttributeError):
                return
