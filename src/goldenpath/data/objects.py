"""Writing content-addressed objects: several at once, none that is there already."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from goldenpath.data.gc import require_unplanned
from goldenpath.data.pool import Pool
from goldenpath.errors import Temporary
from goldenpath.provenance import sha256_hex
from goldenpath.store import Store, keys

PACK = 8 * 2**20
"""Bytes of a pack, roughly: the one that reaches it is closed."""

_ASK_FROM = 2**20
"""Smaller objects are written without asking first whether they are there: one request, not two."""

_REUSE_S = 24 * 3600
"""An object that may have no version yet is relied on only while it is younger than this."""

_LONGEST_S = 48 * 3600
"""A snapshot that lasts longer does not commit. Both together are ``gc.LEAST_GRACE``."""


class Uploads(Pool):
    """A pool of writers. ``used`` holds the key of every object that the snapshot relies on."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.used: set[str] = set()
        self._started = time.monotonic()

    def require_fresh(self) -> None:
        """Raises Temporary where what was written first may be garbage by now; see ``gc``."""
        if time.monotonic() - self._started > _LONGEST_S:
            raise Temporary(
                f"The snapshot lasted longer than {_LONGEST_S // 3600} hours.",
                next_step="Take it again: it goes on with what is stored, and with unchanged files' digests.",
            )
        require_unplanned(self.store, self.used)

    def send(self, data: bytes, key_of: Callable[[str], str] = keys.object_) -> str:
        """Hands an object to the pool and returns its digest at once; ``finish`` waits for it."""
        digest = sha256_hex(data)
        self.submit(partial(self._write, key_of(digest), data))
        return digest

    def write(self, data: bytes) -> str:
        """Writes an object now, in the calling thread; returns its digest."""
        digest = sha256_hex(data)
        self._write(keys.object_(digest), data)
        return digest

    def _write(self, key: str, data: bytes) -> None:
        self.used.add(key)
        if len(data) >= _ASK_FROM:
            there = self.store.head(key)
            if there is not None and there.size == len(data):
                age = (datetime.now(UTC) - there.modified).total_seconds()
                if age < _REUSE_S:
                    return
        # An old one is written again: that makes it young in the eyes of garbage collection.
        self.store.put(key, data)


class Packer:
    """Joins small files into packs.

    ``packs`` has a slot for each, with its digest; a slot is empty while its pack is open. A place is
    ``slot << 32 | offset``.
    """

    def __init__(self, uploads: Uploads) -> None:
        self.packs: list[str] = []
        self._uploads = uploads
        self._open: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> int:
        """Takes a file's bytes and returns their place."""
        if not self._open:
            self._slot = len(self.packs)
            self.packs.append("")
        place = self._slot << 32 | self._size
        self._open.append(data)
        self._size += len(data)
        if self._size >= PACK:
            self.close()
        return place

    def close(self) -> None:
        """Sends the open pack off."""
        if self._open:
            pack = b"".join(self._open)
            self._open, self._size = [], 0
            self.packs[self._slot] = self._uploads.send(pack)
