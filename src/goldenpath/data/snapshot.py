"""Takes a version: walk, hash, write what is new, commit."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from goldenpath import progress
from goldenpath.data.cache import RowCache
from goldenpath.data.config import SnapshotOptions
from goldenpath.data.known import Known
from goldenpath.data.manifest import (
    Index,
    IndexShard,
    Manifest,
    Places,
    Shard,
    Stored,
    cuts_after,
    read_stored,
    weight,
    zipped,
)
from goldenpath.data.objects import Packer, Uploads
from goldenpath.data.prefix import Prefix
from goldenpath.data.rows import BLOCK, PACKED_BELOW, Row, encode, parse
from goldenpath.data.source import Entry, Source
from goldenpath.data.tree import Tree
from goldenpath.data.versions import Lineage, Version, commit, recent
from goldenpath.errors import DataDamaged, InputError
from goldenpath.provenance import new_attempt, sha256_hex
from goldenpath.refs import Kind, check_name
from goldenpath.store import Store, keys

_FEW = 8
"""Up to one new file in so many, the rest of the version before is not read to look for it."""


@dataclass(frozen=True, kw_only=True)
class SnapshotResult:
    """A version. ``bytes`` is the size of all its files together."""

    ref: str
    """With number and digest."""
    files: int
    bytes: int
    changed: bool
    """False where the newest version had the same content: it is the one returned."""
    parent: str
    """The version before, or empty."""


def snapshot(
    source: str,
    name: str,
    *,
    store: Store,
    options: SnapshotOptions,
    lineage: Lineage,
    cache_dir: Path | None = None,
) -> SnapshotResult:
    """Takes an immutable version of a folder, a file or an object prefix.

    Data is written first, then the manifest, then one create-only commit: killed at any point, it
    leaves no half of a version, and the next try goes on with what is stored.

    Args:
        source: A local path, or the URL of an object prefix.
        name: The dataset's name.
        store: Where the version is kept.
        options: What is left out.
        lineage: The run, step, code and inputs that the version is recorded with.
        cache_dir: Where rows of unchanged files are kept between snapshots; None keeps none.

    Raises:
        NotFound: There is no such source.
        InputError: The source holds no files, or something that no version can hold; or the store
            does not enforce conditional writes.
        RefError: The name is not a dataset's.
        Temporary: Files changed or vanished meanwhile, or the store is away.
    """
    check_name(name, Kind.DATASETS)
    found = open_source(source, options)
    before = recent(name, store=store)
    parent = before.newest
    with Uploads(store) as uploads, RowCache(cache_dir, found.name) as cache:
        taking = _Taking(found, _stored(parent, store), uploads, cache)
        with progress.task(f"Snapshot of {name}", unit="files") as advance:
            manifest = taking.manifest(advance)
        digest = sha256_hex(manifest.encoded())
        if parent is not None and parent.digest == digest:
            return _result(parent, store, changed=False)
        index = taking.index()
        uploads.send(manifest.encoded(), keys.manifest)
        version = Version(
            name=name,
            number=0,
            digest=digest,
            index=uploads.send(index.encoded(), keys.manifest),
            files=manifest.files,
            bytes=manifest.size,
            run=lineage.run,
            step=lineage.step,
            code=lineage.code,
            inputs=lineage.inputs,
            source=found.name,
            created_at=datetime.now(UTC),
            attempt=new_attempt(),
        )
        uploads.finish()
        uploads.require_fresh()
        version, own = commit(version, store=store, recent=before)
    return _result(version, store, changed=own)


def open_source(source: str, options: SnapshotOptions) -> Source:
    """A local path or the URL of an object prefix as a source.

    Raises:
        NotFound: There is no such folder or file.
        InputError: The text is empty.
    """
    if not source:
        raise InputError("The source is empty.", next_step="Give a folder, a file or the URL of a prefix.")
    return Prefix(source, options) if "://" in source else Tree(Path(source), options)


def _stored(version: Version | None, store: Store) -> Stored | None:
    if version is None:
        return None
    try:
        return read_stored(store, version.digest, version.index)
    except DataDamaged as error:
        # The new version must not suffer: it then stores everything itself.
        progress.note(f"{version.name}:{version.number} is not reused: {error}")
        return None


def _result(version: Version, store: Store, *, changed: bool) -> SnapshotResult:
    return SnapshotResult(
        ref=str(version.ref(store)),
        files=version.files,
        bytes=version.bytes,
        changed=changed,
        parent=version.parents[0] if version.parents else "",
    )


@dataclass(slots=True)
class _Pending:
    """A new shard: its rows on their way to the store, the places of its packed rows so far."""

    rows: Future[str]
    places: array[int]


class _Taking:
    """One snapshot at work: a shard of entries at a time, so that memory does not grow with the tree."""

    def __init__(self, source: Source, parent: Stored | None, uploads: Uploads, cache: RowCache) -> None:
        self._source = source
        self._uploads = uploads
        self._cache = cache
        self._packer = Packer(uploads)
        self._known = Known(parent, self._packer)
        self._stored: list[IndexShard | _Pending] = []

    def manifest(self, advance: progress.Advance) -> Manifest:
        """Walks the source and hands what is new to the pool; returns the manifest of what was found.

        Raises:
            InputError: The source holds no files.
        """
        shards: list[Shard] = []
        files = size = 0
        for entries in _ranges(self._source.entries()):
            shards.append(self._shard(entries))
            files += sum(entry.is_file for entry in entries)
            size += sum(entry.size for entry in entries)
            advance(len(entries))
        if not files:
            raise InputError(
                f"{self._source.name} holds no files to take a snapshot of.",
                next_step="Look at the path, and at what options.exclude leaves out.",
            )
        return Manifest(files=files, size=size, shards=tuple(shards))

    def index(self) -> Index:
        """Hands the last objects to the pool, and tells where everything lies."""
        self._packer.close()
        return Index(
            shards=tuple(
                IndexShard(rows=stored.rows.result(), places=self._send_places(stored.places))
                if isinstance(stored, _Pending)
                else stored
                for stored in self._stored
            )
        )

    def _shard(self, entries: list[Entry]) -> Shard:
        """Takes one range. ``entries`` is brought up to date where a file was read later than found."""
        cached = [self._cache.row(entry) for entry in entries]
        rows: list[Row] = []
        lines = [line for line in cached if line is not None]
        if len(lines) < len(entries) or sha256_hex(_text(lines)) not in self._known.shards:
            rows = self._read(entries, cached)
            lines = [line or encode(row) for line, row in zip(cached, rows, strict=True)]
        text = _text(lines)
        digest = sha256_hex(text)
        for entry, line in zip(entries, lines, strict=True):
            self._cache.keep(entry, line)
        known = self._known.shards.get(digest)
        if known is not None:
            self._stored.append(known)
        else:
            places = array("Q", map(self._known.place_of, (row for row in rows if row.packed)))
            job = self._uploads.submit(lambda: self._uploads.write(zipped(text)))
            self._stored.append(_Pending(job, places))
        return Shard(first=entries[0].path, last=entries[-1].path, rows=len(entries), sha256=digest)

    def _read(self, entries: list[Entry], lines: list[bytes | None]) -> list[Row]:
        """The rows of a range; what the store does not hold yet is read, hashed and sent off.

        Cached lines whose content is not in the version before are set to None.
        """
        self._known.load(entries[0].path, entries[-1].path)
        rows = self._held(entries, lines)
        new = [number for number, row in enumerate(rows) if row is None]
        if len(new) * _FEW > len(entries) or any(entries[n].size >= PACKED_BELOW for n in new):
            # Much is new, or something large is: worth to see whether it only moved.
            self._known.load_all()
            rows = self._held(entries, lines)
            new = [number for number, row in enumerate(rows) if row is None]
        for number in new:
            lines[number] = None
        large = {n: self._send_blocks(entries[n]) for n in new if entries[n].size >= PACKED_BELOW}
        small = [n for n in new if 0 < entries[n].size < PACKED_BELOW]
        contents = self._source.read_whole([entries[n] for n in small])
        for number, (entry, data) in zip(small, contents, strict=True):
            entries[number], rows[number] = entry, self._pack(entry, data)
        for number, blocks in large.items():
            chunks = tuple(block.result() for block in blocks)
            rows[number] = Row(entries[number].path, entries[number].size, entries[number].mode, chunks)
        return [row or _row_of(entry) for entry, row in zip(entries, rows, strict=True)]

    def _held(self, entries: list[Entry], lines: list[bytes | None]) -> list[Row | None]:
        """The cached rows whose content is in the store for sure; None for all others."""
        found: list[Row | None] = []
        for entry, line in zip(entries, lines, strict=True):
            row = None if line is None else _cached(line)
            held = row is not None and row.path == entry.path and self._known.holds(row)
            found.append(row if held else None)
        return found

    def _pack(self, entry: Entry, data: bytes) -> Row:
        if not data:
            return _row_of(entry)
        chunk = sha256_hex(data)
        if self._known.place(chunk) is None:
            self._known.put(chunk, self._packer.add(data))
        return Row(entry.path, len(data), entry.mode, (chunk,))

    def _send_blocks(self, entry: Entry) -> list[Future[str]]:
        return [
            self._uploads.submit(partial(self._send_block, entry, start, min(BLOCK, entry.size - start)))
            for start in range(0, entry.size, BLOCK)
        ]

    def _send_block(self, entry: Entry, start: int, length: int) -> str:
        data = self._source.read_block(entry, start, length)
        chunk = sha256_hex(data)
        return chunk if self._known.has_block(chunk) else self._uploads.write(data)

    def _send_places(self, places: array[int]) -> str:
        slots: dict[int, int] = {}
        table = Places(
            pack=tuple(slots.setdefault(place >> 32, len(slots)) for place in places),
            offset=tuple(place & 0xFFFFFFFF for place in places),
            packs=tuple(self._packer.packs[slot] for slot in slots),
        )
        return self._uploads.send(zipped(table.model_dump_json().encode()))


def _ranges(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Cuts the walk into shards."""
    found: list[Entry] = []
    total = 0
    for entry in entries:
        found.append(entry)
        total += weight(entry.size)
        if cuts_after(entry.path, total):
            yield found
            found, total = [], 0
    if found:
        yield found


def _cached(line: bytes) -> Row | None:
    """A row as the cache has it, or None where the cache is damaged."""
    try:
        return parse(line)
    except (ValueError, KeyError, TypeError):
        return None


def _row_of(entry: Entry) -> Row:
    """The row of what has no content: a link, a folder, an empty file."""
    if entry.link:
        return Row(entry.path, link=entry.link)
    return Row(entry.path, mode=entry.mode, folder=entry.folder)


def _text(lines: Sequence[bytes]) -> bytes:
    return b"".join(b"%b\n" % line for line in lines)
