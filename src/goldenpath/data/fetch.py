"""From packs and blocks to files: fetched side by side, every byte checked before it is written."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from goldenpath.data.manifest import Places
from goldenpath.data.pool import Pool
from goldenpath.data.rows import BLOCK, Row
from goldenpath.errors import DataDamaged, NotFound, Temporary
from goldenpath.provenance import sha256_hex
from goldenpath.store import Store, keys

_GAP = 512 * 2**10
"""Bytes between two pieces that are read along rather than spend another request on."""


class Fetch(Pool):
    """Writes rows' files below a fresh folder that nobody else knows."""

    def __init__(self, store: Store, folder: Path) -> None:
        super().__init__()
        self._store = store
        self._folder = str(folder)
        self._made = {""}
        self._links: list[Row] = []
        self._empty: list[Row] = []

    def add(self, rows: Sequence[Row], places: Places, wanted: Iterable[Row]) -> None:
        """Starts fetching the wanted ones of a shard's rows."""
        where = dict(zip((row.path for row in rows if row.packed), _pairs(places), strict=True))
        packs: dict[str, list[tuple[Row, int]]] = {}
        for row in wanted:
            self._make_parents(row.path)
            if row.link:
                self._links.append(row)
            elif row.folder:
                self._empty.append(row)
            elif row.packed:
                pack, offset = where[row.path]
                packs.setdefault(pack, []).append((row, offset))
            elif not row.size:
                self._write(row, b"")
            else:
                self._add_large(row)
        for pack, found in packs.items():
            self.submit(partial(self._unpack, pack, found))

    def finish(self) -> None:
        """Waits for all files; then links and empty folders are made, and modes of folders set."""
        super().finish()
        for row in self._empty:
            path = f"{self._folder}/{row.path}"
            Path(path).mkdir()
            Path(path).chmod(row.mode)
        for row in self._links:
            Path(f"{self._folder}/{row.path}").symlink_to(row.link)

    def _make_parents(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        if parent not in self._made:
            self._make_parents(parent)
            # Not exist_ok: on a disk that does not tell 'A' from 'a' two folders would become one.
            Path(f"{self._folder}/{parent}").mkdir()
            self._made.add(parent)

    def _unpack(self, pack: str, found: list[tuple[Row, int]]) -> None:
        for (row, _), data in zip(found, read_packed(self._store, pack, found), strict=True):
            check(self._store, pack, row, row.chunks[0], data)
            self._write(row, data)

    def _write(self, row: Row, data: bytes | memoryview) -> None:
        file = _create(f"{self._folder}/{row.path}")
        try:
            _write_all(file, data, 0)
            os.fchmod(file, row.mode)
        finally:
            os.close(file)

    def _add_large(self, row: Row) -> None:
        large = _Large(f"{self._folder}/{row.path}", row)
        for number in range(len(row.chunks)):
            self.submit(partial(self._block, row, number, large))

    def _block(self, row: Row, number: int, large: _Large) -> None:
        data = read_block(self._store, row, number)
        large.write(number * BLOCK, data)


class _Large:
    """A file written block by block, by one thread at a time: parallel writes to one inode are slow."""

    def __init__(self, path: str, row: Row) -> None:
        self._path = path
        self._mode = row.mode
        self._lock = threading.Lock()
        self._left = len(row.chunks)
        file = _create(path)
        try:
            os.truncate(file, row.size)
        finally:
            os.close(file)

    def write(self, start: int, data: memoryview) -> None:
        with self._lock:
            file = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                _write_all(file, data, start)
                self._left -= 1
                if not self._left:
                    os.fchmod(file, self._mode)
            finally:
                os.close(file)


def read_packed(store: Store, pack: str, found: Sequence[tuple[Row, int]]) -> list[memoryview]:
    """The bytes of rows at their offsets in a pack, unchecked.

    Pieces that lie close together are read with one request.

    Raises:
        DataDamaged: The pack is missing or too short.
    """
    key = keys.object_(pack)
    pieces: dict[int, memoryview] = {}
    try:
        for start, end in spans([(offset, offset + row.size) for row, offset in found]):
            data = memoryview(store.get_range(key, start, end - start))
            for row, offset in found:
                if start <= offset < end:
                    pieces[offset] = data[offset - start : offset - start + row.size]
    except NotFound:
        raise _missing(store, key, found[0][0]) from None
    except Temporary:
        # A range beyond the end is refused by some stores: then it is not the store that is at fault.
        there = store.head(key)
        if there is not None and there.size < max(offset + row.size for row, offset in found):
            raise DataDamaged(f"{store.uri(key)} ends early: {there.size} bytes.") from None
        raise
    return [pieces[offset][: row.size] for row, offset in found]


def spans(wanted: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The fewest ranges that cover all wanted ones without reading over a wide gap; ends are exclusive."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(wanted):
        if joined and start <= joined[-1][1] + _GAP:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def read_block(store: Store, row: Row, number: int) -> memoryview:
    """One block of a large file, checked.

    Raises:
        DataDamaged: It is missing, or its bytes are others.
    """
    key = keys.object_(row.chunks[number])
    try:
        data = store.view(key)
    except NotFound:
        raise _missing(store, key, row) from None
    check(store, row.chunks[number], row, row.chunks[number], data)
    if len(data) != row.block_size(number):
        raise DataDamaged(f"{store.uri(key)} is not block {number} of {row.path!r}: {len(data)} bytes.")
    return data


def check(store: Store, stored_in: str, row: Row, chunk: str, data: bytes | memoryview) -> None:
    """Raises DataDamaged unless the bytes are those of the digest."""
    if sha256_hex(data) != chunk:
        raise DataDamaged(
            f"{store.uri(keys.object_(stored_in))} is damaged: {row.path!r} has not the sha256 {chunk}.",
            next_step="goldenpath data verify --deep tells which files of which versions that touches.",
        )


def _missing(store: Store, key: str, row: Row) -> DataDamaged:
    return DataDamaged(
        f"{store.uri(key)} is missing: {row.path!r} needs it.",
        next_step="goldenpath data verify tells which files of which versions that touches.",
    )


def _pairs(places: Places) -> Iterable[tuple[str, int]]:
    return ((places.packs[pack], offset) for pack, offset in zip(places.pack, places.offset, strict=True))


def _create(path: str) -> int:
    # O_EXCL: on a disk that does not tell 'A' from 'a' the second of two such names fails here.
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)


def _write_all(file: int, data: bytes | memoryview, start: int) -> None:
    left = memoryview(data)
    while left:
        done = os.pwrite(file, left, start)
        left, start = left[done:], start + done
