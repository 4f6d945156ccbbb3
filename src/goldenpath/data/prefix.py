"""An object prefix of any store as a source: read as a stream, never copied to a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from goldenpath.data.config import SnapshotOptions
from goldenpath.data.patterns import matcher
from goldenpath.data.rows import check_path, order
from goldenpath.data.source import Entry, changed
from goldenpath.errors import DataDamaged, InputError, NotFound
from goldenpath.store import open_store

_READERS = 16
_AHEAD = 64
_MODE = 0o644


class Prefix:
    """All objects below a URL; the names are what follows it."""

    def __init__(self, url: str, options: SnapshotOptions) -> None:
        self.name = url.rstrip("/")
        self._store = open_store(self.name)
        self._excluded = matcher(options.excluded)

    def entries(self) -> Iterator[Entry]:
        """Lists the objects, ordered by their names (stores list in orders of their own).

        Raises:
            NotFound: There is no object below the URL.
            InputError: A name cannot be a file's.
        """
        found = [
            Entry(
                _checked(item.key, self.name),
                size=item.size,
                mode=_MODE,
                stamp=f"{item.size}:{item.modified.isoformat()}:{item.etag}".replace(" ", "_"),
                # An entity tag changes with the content; a time alone may not.
                settled=bool(item.etag),
            )
            for item in self._store.list()
            # An object named like a folder is how consoles make one; it holds nothing.
            if not (item.key.endswith("/") and item.size == 0)
        ]
        if not found:
            raise NotFound(f"There is no object below {self.name}.")
        found.sort(key=lambda entry: order(entry.path))
        for before, entry in zip([None, *found], found, strict=False):
            if before is not None and entry.path.startswith(before.path + "/"):
                raise InputError(
                    f"{self.name} has both an object {before.path!r} and one below it, {entry.path!r}: no "
                    "folder can hold both.",
                    next_step="Rename one, or leave it out (options.exclude).",
                )
            if not self._excluded_at_any_depth(entry.path):
                yield entry

    def _excluded_at_any_depth(self, path: str) -> bool:
        names = path.split("/")
        return any(self._excluded("/".join(names[:depth])) for depth in range(1, len(names) + 1))

    def read_whole(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Reads small objects, several ahead of the one that is asked for."""
        waiting = iter(entries)
        with ThreadPoolExecutor(_READERS) as pool:
            ahead = [pool.submit(self._read, entry) for entry in islice(waiting, _AHEAD)]
            for entry in entries:
                data = ahead.pop(0).result()
                ahead.extend(pool.submit(self._read, later) for later in islice(waiting, 1))
                yield entry, data

    def _read(self, entry: Entry) -> bytes:
        try:
            data = self._store.get(entry.path)
        except NotFound:
            raise changed(self.name, [entry.path]) from None
        if len(data) != entry.size:
            raise changed(self.name, [entry.path])
        return data

    def read_block(self, entry: Entry, start: int, length: int) -> bytes:
        """Reads a range of a large object."""
        try:
            return self._store.get_range(entry.path, start, length)
        except (NotFound, DataDamaged):
            raise changed(self.name, [entry.path]) from None


def _checked(key: str, source: str) -> str:
    try:
        return check_path(key)
    except ValueError as error:
        raise InputError(f"An object of {source} cannot be a file: {error}.") from None
