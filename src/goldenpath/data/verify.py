"""Looks for damage: what is missing or changed in the store, and which files of which versions need it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from goldenpath import progress
from goldenpath.data.manifest import Stored, read_stored
from goldenpath.data.rows import Row
from goldenpath.data.versions import Version, find, history, names
from goldenpath.errors import DataDamaged, NotFound
from goldenpath.provenance import sha256_hex
from goldenpath.store import Store, keys

_WORKERS = 12
_BATCH = 256


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One damaged or missing object, and the files that need it."""

    object: str
    fault: str
    files: tuple[str, ...]
    """``name:number path``, for every version in the store; a manifest or shard touches ``*``."""


@dataclass(frozen=True, kw_only=True)
class VerifyResult:
    """What was looked at. ``bytes`` were read; without ``deep`` only manifests and tables are."""

    ref: str
    ok: bool
    deep: bool
    objects: int
    bytes: int
    damaged: tuple[Damage, ...]


@dataclass(slots=True)
class _Object:
    """What a version expects of one pack or block."""

    end: int = 0
    pieces: list[tuple[str, int, int]] = field(default_factory=list)
    """Chunk, offset and size of each piece."""


def verify(ref: str, *, store: Store, deep: bool = False) -> VerifyResult:
    """Checks a version: its documents and tables, and that every object is there in its full size.

    Args:
        ref: The version.
        store: The store of short references.
        deep: Read every byte of every object too and compare the digests.

    Raises:
        RefError, NotFound: There is no such version.
    """
    version, place = find(ref, store=store)
    full = str(version.ref(place))
    try:
        stored = read_stored(place, version.digest, version.index)
        wanted = _expected(stored)
    except DataDamaged as error:
        damage = Damage(object=full, fault=error.message, files=(f"{version.name}:{version.number} *",))
        return VerifyResult(ref=full, ok=False, deep=deep, objects=0, bytes=0, damaged=(damage,))
    bad: dict[str, tuple[str, set[str]]] = {}
    size = 0
    with (
        ThreadPoolExecutor(_WORKERS) as pool,
        progress.task("Verify", total=len(wanted), unit="objects") as advance,
    ):
        look = partial(_look, place, deep)
        for batch in _batches(wanted.items()):
            for (digest, _), (fault, chunks, read) in zip(batch, pool.map(look, batch), strict=True):
                size += read
                if fault:
                    bad[digest] = (fault, chunks)
            advance(len(batch))
    return VerifyResult(
        ref=full,
        ok=not bad,
        deep=deep,
        objects=len(wanted),
        bytes=size,
        damaged=_touched(place, bad) if bad else (),
    )


def _expected(stored: Stored) -> dict[str, _Object]:
    found: dict[str, _Object] = defaultdict(_Object)
    for digest, chunk, offset, size, _ in _pieces(stored):
        found[digest].end = max(found[digest].end, offset + size)
        found[digest].pieces.append((chunk, offset, size))
    return found


def _pieces(stored: Stored) -> Iterator[tuple[str, str, int, int, Row]]:
    """Object, chunk, offset, size and row of every piece of a version."""
    for number in range(len(stored.manifest.shards)):
        rows = stored.shard_rows(number)
        places = stored.shard_places(number, rows)
        where = iter(zip(places.pack, places.offset, strict=True))
        for row in rows:
            if row.packed:
                pack, offset = next(where)
                yield places.packs[pack], row.chunks[0], offset, row.size, row
            else:
                for block, chunk in enumerate(row.chunks):
                    yield chunk, chunk, 0, row.block_size(block), row


def _look(store: Store, deep: bool, item: tuple[str, _Object]) -> tuple[str, set[str], int]:
    """The fault of an object or '', the chunks that it spoils, and the bytes read."""
    digest, expected = item
    key = keys.object_(digest)
    if not deep:
        there = store.head(key)
        if there is None:
            return "missing", {chunk for chunk, _, _ in expected.pieces}, 0
        if there.size < expected.end:
            lost = {chunk for chunk, offset, size in expected.pieces if offset + size > there.size}
            return f"ends early: {there.size} of {expected.end} bytes", lost, 0
        return "", set(), 0
    try:
        data = store.view(key)
    except NotFound:
        return "missing", {chunk for chunk, _, _ in expected.pieces}, 0
    spoilt = {
        chunk for chunk, start, size in expected.pieces if sha256_hex(data[start : start + size]) != chunk
    }
    if spoilt or sha256_hex(data) != digest:
        return f"its bytes have the sha256 {sha256_hex(data)}", spoilt, len(data)
    return "", set(), len(data)


def _touched(store: Store, bad: dict[str, tuple[str, set[str]]]) -> tuple[Damage, ...]:
    """Looks through all versions of the store for files that need a spoilt piece."""
    files: dict[str, list[str]] = {digest: [] for digest in bad}
    for version in _all_versions(store):
        try:
            for digest, chunk, _, _, row in _pieces(read_stored(store, version.digest, version.index)):
                line = f"{version.name}:{version.number} {row.path}"
                if digest in bad and chunk in bad[digest][1] and line not in files[digest][-1:]:
                    files[digest].append(line)
        except DataDamaged:
            progress.note(f"{version.name}:{version.number} cannot be searched: its own manifest is damaged.")
    return tuple(
        Damage(object=store.uri(keys.object_(digest)), fault=fault, files=tuple(files[digest]))
        for digest, (fault, _) in sorted(bad.items())
    )


def _all_versions(store: Store) -> Iterator[Version]:
    for name in names(store=store):
        yield from history(name, store=store)


def _batches(items: Iterable[tuple[str, _Object]]) -> Iterator[list[tuple[str, _Object]]]:
    batch: list[tuple[str, _Object]] = []
    for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
