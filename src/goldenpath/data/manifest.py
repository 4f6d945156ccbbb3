"""The manifest of a version (what it holds) and the index beside it (where the bytes lie).

The version's id is the sha256 of the manifest, canonical JSON that lists the shards of rows by the
sha256 of their uncompressed text: it covers content only. The index is another document: it names,
for each shard, the object with its rows (gzip) and the one with the places of its packed files, so
that packing anew never changes an id.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from goldenpath.data.rows import BLOCK, Row, decode, order
from goldenpath.errors import DataDamaged
from goldenpath.provenance import canonical_json, sha256_hex
from goldenpath.store import Store, keys

Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=0, strict=True)]

_CUT_EVERY = 2**15
_HEAVIEST_SHARD = 2**17
_LARGEST_TEXT = 2**31


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


D = TypeVar("D", bound=_Document)


class Shard(_Document):
    """A range of rows."""

    first: str
    last: str
    rows: Whole
    sha256: Hex
    """Of the rows' text: each row and a newline."""


class Manifest(_Document):
    """What a version holds. Its digest is the version's id."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    kind: Literal["dataset"] = "dataset"
    algorithm: Literal["sha256"] = "sha256"
    block: Literal[16777216] = 16777216
    """``rows.BLOCK``: where files are cut."""
    files: Whole
    size: Whole
    shards: tuple[Shard, ...]

    def encoded(self) -> bytes:
        """The canonical text."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))


class IndexShard(_Document):
    """Where one shard's rows and their bytes lie: two objects."""

    rows: Hex
    places: Hex


class Index(_Document):
    """Where a version's bytes lie, shard by shard in the manifest's order."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    kind: Literal["dataset-index"] = "dataset-index"
    packed_below: Literal[4194304] = 4194304
    """``rows.PACKED_BELOW``: which files have a place in a pack."""
    shards: tuple[IndexShard, ...]

    def encoded(self) -> bytes:
        """The canonical text."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))


class Places(_Document):
    """The places of a shard's packed rows, in their order: which pack, and where in it."""

    packs: tuple[Hex, ...]
    pack: tuple[Whole, ...]
    offset: tuple[Whole, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A manifest with its index, and the store that both were read from."""

    store: Store
    digest: str
    manifest: Manifest
    index: Index

    def shard_rows(self, number: int) -> list[Row]:
        """The rows of one shard, checked against the manifest's digest and for safety.

        Raises:
            DataDamaged: The object is missing, damaged or malformed.
        """
        shard, where = self.manifest.shards[number], self.index.shards[number].rows
        text = _unzipped(self.store, where)
        if sha256_hex(text) != shard.sha256:
            raise DataDamaged(f"The object {where} does not hold the rows {shard.sha256}.")
        rows = list(decode(text.split(b"\n")[:-1], where=shard.sha256))
        if len(rows) != shard.rows or (rows[0].path, rows[-1].path) != (shard.first, shard.last):
            raise DataDamaged(f"The rows {shard.sha256} are not the range that the manifest says.")
        return rows

    def shard_places(self, number: int, rows: Sequence[Row]) -> Places:
        """The places of a shard's packed rows, one for each.

        Raises:
            DataDamaged: The object is missing, damaged or does not fit the rows.
        """
        where = self.index.shards[number].places
        try:
            places = Places.model_validate_json(_unzipped(self.store, where))
        except ValidationError as error:
            raise DataDamaged(
                f"The object {where} is no table of places: {error.errors()[0]['msg']}."
            ) from None
        packed = sum(row.packed for row in rows)
        if not len(places.pack) == len(places.offset) == packed or any(
            pack >= len(places.packs) for pack in places.pack
        ):
            raise DataDamaged(f"The table of places {where} does not fit its {packed} rows.")
        return places

    def rows(self) -> Iterator[Row]:
        """Every row in order."""
        for number in range(len(self.manifest.shards)):
            yield from self.shard_rows(number)


def read_stored(store: Store, digest: str, index_digest: str) -> Stored:
    """Reads a manifest and its index by their digests.

    Raises:
        DataDamaged: One of them is missing, damaged, malformed, or they do not fit each other.
    """
    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(_document, store, index_digest, Index)
        manifest = _document(store, digest, Manifest)
        index = reading.result()
    if len(manifest.shards) != len(index.shards):
        raise DataDamaged(f"The index {index_digest} is not one of the manifest {digest}.")
    ranges = [order(path) for shard in manifest.shards for path in (shard.first, shard.last)]
    if ranges != sorted(ranges) or any(not shard.rows for shard in manifest.shards):
        raise DataDamaged(f"The shards of the manifest {digest} are empty or out of order.")
    _check_borders(manifest, digest)
    return Stored(store, digest, manifest, index)


def _check_borders(manifest: Manifest, digest: str) -> None:
    # Inside a shard ``decode`` sees to it: no path twice, none below a file.
    for left, right in zip(manifest.shards, manifest.shards[1:], strict=False):
        if left.last == right.first or right.first.startswith(left.last + "/"):
            raise DataDamaged(f"The manifest {digest} has {right.first!r} at or below {left.last!r}.")


def _document(store: Store, digest: str, kind: type[D]) -> D:
    data = verified(store, keys.manifest(digest), digest)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        fault = error.errors()[0]
        raise DataDamaged(
            f"{store.uri(keys.manifest(digest))} is no {kind.__name__.lower()} of a dataset version: "
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}."
        ) from None


def weight(size: int) -> int:
    """What a file adds to its shard's weight: a row and its chunks. ``size`` in bytes."""
    return 1 + -(-size // BLOCK)


def cuts_after(path: str, total: int) -> bool:
    """Whether a shard ends with this path, where its rows weigh ``total`` together.

    Decided by the content alone, about once in 32k paths, so that a file that comes or goes changes
    one shard and leaves the others' digests as they are.
    """
    return zlib.crc32(path.encode()) % _CUT_EVERY == 0 or total >= _HEAVIEST_SHARD


def zipped(text: bytes) -> bytes:
    """The gzip form that shards and places are stored in."""
    return gzip.compress(text, compresslevel=1, mtime=0)


def verified(store: Store, key: str, digest: str) -> bytes:
    """Reads an object and checks it against its digest.

    Raises:
        DataDamaged: It is missing, or its bytes are others.
    """
    data = store.get_or_none(key)
    if data is None:
        raise DataDamaged(f"{store.uri(key)} is missing.", next_step="Restore another version.")
    if sha256_hex(data) != digest:
        raise DataDamaged(
            f"{store.uri(key)} is damaged: its bytes have the sha256 {sha256_hex(data)}.",
            next_step="goldenpath data verify --deep tells which files of which versions that touches.",
        )
    return data


def _unzipped(store: Store, digest: str) -> bytes:
    data = verified(store, keys.object_(digest), digest)
    unzip = zlib.decompressobj(wbits=31)
    try:
        text = unzip.decompress(data, _LARGEST_TEXT)
    except zlib.error as error:
        raise DataDamaged(f"{store.uri(keys.object_(digest))} is not gzip: {error}.") from None
    if not unzip.eof:
        raise DataDamaged(f"{store.uri(keys.object_(digest))} ends early, or unzips to over 2 GiB.")
    return text
