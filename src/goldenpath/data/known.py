"""What the version before holds already: its chunks are not written again."""

from __future__ import annotations

from goldenpath import progress
from goldenpath.data.manifest import IndexShard, Stored
from goldenpath.data.objects import Packer
from goldenpath.data.rows import Row, order
from goldenpath.errors import DataDamaged


class Known:
    """The chunks of the parent version and of this snapshot so far, by digest.

    The parent's rows are read when new content appears, and only those of the same range of paths
    where there is little of it; an unchanged source needs none. About 200 bytes of memory a small file.
    """

    def __init__(self, parent: Stored | None, packer: Packer) -> None:
        self._parent = parent
        self._unread = set(range(len(parent.manifest.shards))) if parent is not None else set()
        self._packer = packer
        self._places: dict[bytes, int] = {}
        self._blocks: set[bytes] = set()
        self.shards: dict[str, IndexShard] = {}
        """The parent's shards by the digest of their rows, with the objects that hold them."""
        if parent is not None:
            for shard, stored in zip(parent.manifest.shards, parent.index.shards, strict=True):
                self.shards[shard.sha256] = stored

    def load(self, first: str, last: str) -> None:
        """Reads the parent's rows that share a shard with the paths from ``first`` to ``last``."""
        if self._parent is not None:
            for number, shard in enumerate(self._parent.manifest.shards):
                if order(shard.last) >= order(first) and order(shard.first) <= order(last):
                    self._read(self._parent, number)

    def load_all(self) -> None:
        """Reads the rest, so that what moved from anywhere is found."""
        if self._parent is not None:
            for number in sorted(self._unread):
                self._read(self._parent, number)

    def _read(self, parent: Stored, number: int) -> None:
        if number not in self._unread:
            return
        self._unread.remove(number)
        try:
            rows = parent.shard_rows(number)
            places = parent.shard_places(number, rows)
        except DataDamaged as error:
            progress.note(f"Not reused from the version before: {error}")
            self.shards.pop(parent.manifest.shards[number].sha256, None)
            return
        first = len(self._packer.packs)
        self._packer.packs.extend(places.packs)
        found = iter(zip(places.pack, places.offset, strict=True))
        for row in rows:
            if row.packed:
                pack, offset = next(found)
                self._places[bytes.fromhex(row.chunks[0])] = (first + pack) << 32 | offset
            else:
                self._blocks.update(map(bytes.fromhex, row.chunks))

    def place(self, chunk: str) -> int | None:
        """The place of a packed chunk, or None."""
        return self._places.get(bytes.fromhex(chunk))

    def place_of(self, row: Row) -> int:
        """The place of a packed row that is known."""
        return self._places[bytes.fromhex(row.chunks[0])]

    def put(self, chunk: str, place: int) -> None:
        """Adds a packed chunk."""
        self._places[bytes.fromhex(chunk)] = place

    def has_block(self, chunk: str) -> bool:
        """Whether a block is there."""
        return bytes.fromhex(chunk) in self._blocks

    def holds(self, row: Row) -> bool:
        """Whether every chunk of a row is there."""
        if row.packed:
            return self.place(row.chunks[0]) is not None
        return all(map(self.has_block, row.chunks))
