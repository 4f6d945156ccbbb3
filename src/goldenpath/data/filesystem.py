"""A version as a read-only fsspec filesystem: pandas, polars, pyarrow and data loaders read it in place.

Nothing is restored. Shards of rows are read when a path in them is asked for, bytes by range (a small
file whole, a large one by its blocks of 16 MiB), and each is checked against its digest before any
byte of it is handed out.
"""

from __future__ import annotations

import bisect
import functools
import posixpath
from collections.abc import Iterator
from typing import Any, NamedTuple

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from goldenpath.data.fetch import check, read_block, read_packed
from goldenpath.data.rows import BLOCK, Row, order
from goldenpath.data.versions import open_version
from goldenpath.store import open_store

_SHARDS_KEPT = 8
_BLOCKS_KEPT = 8
_MOST_LINKS = 40


class _Placed(NamedTuple):
    """A row and, where it is packed, its place."""

    row: Row
    pack: str = ""
    offset: int = 0


class VersionFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files of one version. ``ref`` is a full reference, so that other processes can open it too."""

    protocol = "goldenpath-data"

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref
        store_url = ref.rpartition("/datasets/")[0]
        self._stored = open_version(ref, store=open_store(store_url))[1]
        self._ends = [order(shard.last) for shard in self._stored.manifest.shards]
        # A cache an instance: methods decorated with lru_cache would share one and keep instances alive.
        self._shard = functools.lru_cache(_SHARDS_KEPT)(self._load_shard)
        self._block = functools.lru_cache(_BLOCKS_KEPT)(self._load_block)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """The name, type and size of a path; links are followed.

        Raises:
            FileNotFoundError: The version does not have it.
        """
        path = self._strip_protocol(path)
        found = self._follow(path) if path else None
        if found is not None:
            return _info(path, found.row)
        if not path or next(self._below(path), None) is not None:
            return _folder(path)
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """What a folder holds, or the file itself.

        Raises:
            FileNotFoundError: The version does not have it.
        """
        path = self._strip_protocol(path)
        own = self.info(path)
        found: dict[str, dict[str, Any]] = {}
        if own["type"] == "file":
            found[path] = own
        else:
            start = len(path) + 1 if path else 0
            for placed in self._below(path):
                name, slash, _rest = placed.row.path[start:].partition("/")
                child = placed.row.path[:start] + name
                if child not in found:
                    found[child] = _folder(child) if slash else self._listed(placed.row)
        return list(found.values()) if detail else list(found)

    def _listed(self, row: Row) -> dict[str, Any]:
        """A row as its folder lists it: a link to a folder is no folder, or a walk might never end."""
        found = self._follow(row.path)
        if row.link and (found is None or not found.row.is_file):
            return {"name": row.path, "size": 0, "type": "link", "destination": row.link}
        return _info(row.path, row if found is None else found.row)

    def created(self, path: str) -> Any:
        """Not kept: a version's identity is its content.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(path)

    modified = created

    def ukey(self, path: str) -> str:
        """A key that is the same as long as the content is."""
        return f"{self.ref}/{self._strip_protocol(path)}"

    def _open(self, path: str, mode: str = "rb", **_: Any) -> VersionFile:
        if mode != "rb":
            raise OSError(f"{self.ref} is a version: it can be read only, not opened as {mode!r}.")
        found = self._follow(path)
        if found is None or not found.row.is_file:
            raise (FileNotFoundError if found is None else IsADirectoryError)(path)
        return VersionFile(self, path, found)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """A file's bytes, or a range of them."""
        with self._open(self._strip_protocol(path)) as file:
            first, last, _step = slice(start, end).indices(file.size)
            found: bytes = file.read_range(first, last)
        return found

    def _follow(self, path: str) -> _Placed | None:
        """The row of a path, links followed: of the path itself, and of folders on its way."""
        for _ in range(_MOST_LINKS):
            found = self._find(path)
            if found is not None and not found.row.link:
                return found
            if found is None:
                above = path
                while above and (found is None or not found.row.link):
                    above = above.rpartition("/")[0]
                    found = self._find(above) if above else None
                if found is None or not found.row.link:
                    return None
            rest = path[len(found.row.path) :]
            target = posixpath.join(posixpath.dirname(found.row.path), found.row.link)
            path = posixpath.normpath(target + rest)
        return None

    def _find(self, path: str) -> _Placed | None:
        number = bisect.bisect_left(self._ends, order(path))
        if number == len(self._ends):
            return None
        keys, placed = self._shard(number)
        position = bisect.bisect_left(keys, order(path))
        if position < len(keys) and keys[position] == order(path):
            return placed[position]
        return None

    def _below(self, folder: str) -> Iterator[_Placed]:
        """The rows below a folder in order; '' is the root."""
        prefix = order(folder) + "\0" if folder else ""
        for number in range(bisect.bisect_left(self._ends, prefix), len(self._ends)):
            keys, placed = self._shard(number)
            for position in range(bisect.bisect_left(keys, prefix), len(keys)):
                if not keys[position].startswith(prefix):
                    return
                yield placed[position]

    def _load_shard(self, number: int) -> tuple[list[str], list[_Placed]]:
        rows = self._stored.shard_rows(number)
        places = self._stored.shard_places(number, rows)
        where = zip((places.packs[pack] for pack in places.pack), places.offset, strict=True)
        placed = [_Placed(row, *next(where)) if row.packed else _Placed(row) for row in rows]
        return [order(row.path) for row in rows], placed

    def _load_block(self, placed: _Placed, number: int) -> memoryview:
        row = placed.row
        if not row.packed:
            return read_block(self._stored.store, row, number)
        (data,) = read_packed(self._stored.store, placed.pack, [(row, placed.offset)])
        check(self._stored.store, placed.pack, row, row.chunks[0], data)
        return data

    def read_range(self, placed: _Placed, start: int, end: int) -> bytes:
        """Verified bytes of a file."""
        parts = []
        for number in range(start // BLOCK, -(-end // BLOCK)):
            block = self._block(placed, number)
            parts.append(block[max(0, start - number * BLOCK) : end - number * BLOCK])
        return b"".join(parts)


class VersionFile(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """One open file of a version."""

    def __init__(self, fs: VersionFileSystem, path: str, placed: _Placed) -> None:
        self._placed = placed
        # The filesystem keeps whole verified blocks: a second cache of ranges would only copy them.
        super().__init__(fs, path, mode="rb", cache_type="none", size=placed.row.size)

    def read_range(self, start: int, end: int) -> bytes:
        """Verified bytes."""
        found: bytes = self.fs.read_range(self._placed, start, max(start, end))
        return found

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self.read_range(start, min(end, self.size))


def _folder(path: str) -> dict[str, Any]:
    return {"name": path, "size": 0, "type": "directory"}


def _info(path: str, row: Row) -> dict[str, Any]:
    kind = "file" if row.is_file else "directory"
    return {"name": path, "size": row.size, "type": kind, "mode": row.mode, "chunks": list(row.chunks)}
