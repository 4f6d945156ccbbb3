"""The cache of a source's rows: what has the stamp it had last time is not read again.

One text file a source: a line an entry, ``<path as JSON><tab><stamp><tab><row>``, in the order of rows,
so that it is read and written in step with the walk and never held in memory. It only saves time: a
lost or damaged one is as good as none, for a digest that the store does not know is computed again.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

from goldenpath.data.rows import order
from goldenpath.data.source import Entry
from goldenpath.provenance import sha256_hex

_HEADER = b"goldenpath rows 2\n"
_ABANDONED_S = 7 * 24 * 3600


class _Line(NamedTuple):
    path: bytes
    stamp: bytes
    row: bytes

    def order(self) -> str:
        """The sort key; that of a damaged line is before all others."""
        try:
            return order(json.loads(self.path))
        except (ValueError, AttributeError):
            return ""


class RowCache:
    """The cached rows of one source, read in order, and written anew beside the old ones."""

    def __init__(self, folder: Path | None, source: str) -> None:
        self._path = None if folder is None else folder / "data" / "rows" / sha256_hex(source.encode())[:32]
        self._old: Iterator[_Line] = iter(())
        self._ahead: _Line | None = None
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
        quoted = b'"%b"' % entry.path.encode()
        while self._ahead is not None and self._ahead.path != quoted:
            # Not the same text: it may be an escaped form of the path, one before it, or one after.
            there = self._ahead.order()
            if there > order(entry.path):
                return None
            if there == order(entry.path):
                break
            self._ahead = next(self._old, None)
        if self._ahead is None or self._ahead.stamp != entry.stamp.encode() or not entry.stamp:
            return None
        return self._ahead.row

    def keep(self, entry: Entry, row: bytes) -> None:
        """Caches a row for next time, if its stamp is one to trust."""
        if self._new is not None and entry.settled and entry.stamp:
            path = json.dumps(entry.path, ensure_ascii=False).encode()
            self._new.write(b"%b\t%b\t%b\n" % (path, entry.stamp.encode(), row))


def _remove_abandoned(folder: Path) -> None:
    """Removes what killed snapshots were writing."""
    for path in folder.glob(".*"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - _ABANDONED_S:
                path.unlink()


def _lines(path: Path) -> Iterator[_Line]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        if file.readline() != _HEADER:
            return
        for line in file:
            parts = line.rstrip(b"\n").split(b"\t")
            if len(parts) != len(_Line._fields):
                return
            yield _Line(*parts)
