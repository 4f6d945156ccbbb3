"""Garbage collection: deletes what no record of the store refers to.

Versions are never deleted, so garbage is what killed and failed snapshots left. Marking is cautious:
every record of every family (versions, runs, tags, models …) is searched for anything that looks like
a digest, and what it finds is kept, with the documents and tables that those refer to in turn.

Beside a writer it is safe by three rules. Nothing younger than the grace period is deleted, and a
snapshot that lasts longer than a writer may refuses to commit. An object that is found in the store
and is not fresh is written again, which makes it young. And before it deletes, the collection says
what (a plan), then looks at each object's age once more; a snapshot looks for plans after its last
write and before its commit. So either the collection sees the new write or the snapshot sees the plan.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from goldenpath import progress
from goldenpath.data.manifest import verified
from goldenpath.errors import DataDamaged, InputError, Temporary
from goldenpath.provenance import new_attempt
from goldenpath.store import Entry, Store, keys

GRACE = timedelta(days=7)
LEAST_GRACE = timedelta(days=3)
"""Longer than the longest snapshot and the age of what it may rely on together; see ``objects``."""

_PLAN_LASTS = timedelta(hours=1)
_STOP_BEFORE = timedelta(minutes=10)
_WORKERS = 16
_BATCH = 256
_ROOTS_APART = ("objects/", "manifests/", keys.GC_PLANS, keys.PROBE_CREATE)
_LONGEST_RECORD = 16 * 2**20
_DIGEST = re.compile(rb"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class GcResult:
    """What no record refers to. ``bytes`` is the size of those objects."""

    objects: int
    bytes: int
    deleted: bool
    """False for a dry run."""
    young: int
    """Objects that were left alone because they are younger than the grace period."""


def gc(*, store: Store, delete: bool = False, grace: timedelta = GRACE) -> GcResult:
    """Finds objects that nothing refers to, and deletes them if asked to.

    Args:
        store: The store.
        delete: Whether to delete; else it is a dry run.
        grace: The age below which nothing is deleted, three days at least.

    Raises:
        InputError: The grace period is shorter than a snapshot may last.
        DataDamaged: A version's index cannot be read, so that its objects cannot be told; nothing
            was deleted.
        Temporary: The collection lasted too long, or another one runs; run it again.
    """
    if grace < LEAST_GRACE:
        raise InputError(
            f"The grace period of {grace} is shorter than a snapshot may last.",
            next_step=f"It is at least {LEAST_GRACE.days} days.",
        )
    oldest = datetime.now(UTC) - grace
    content: dict[str, Entry] = {}
    roots: list[str] = []
    young = 0
    for entry in store.list():
        if not entry.key.startswith(_ROOTS_APART):
            if entry.key.endswith(".json") and entry.size <= _LONGEST_RECORD:
                roots.append(entry.key)
        elif entry.key.startswith(("objects/", "manifests/")):
            content[entry.key] = entry
            young += entry.modified > oldest
    old = {key: entry for key, entry in content.items() if entry.modified <= oldest}
    garbage = old.keys() - _marked(store, roots, content.keys()) if old else set()
    if delete and garbage:
        _sweep(store, {key: old[key] for key in garbage})
    return GcResult(
        objects=len(garbage), bytes=sum(old[key].size for key in garbage), deleted=delete, young=young
    )


def require_unplanned(store: Store, used: Iterable[str]) -> None:
    """Stops a snapshot that relies on an object that a running collection is about to delete.

    Called after the snapshot's last write and before its commit.

    Raises:
        Temporary: There is such an object; the snapshot may be taken again.
    """
    wanted = set(used)
    for entry in store.list(keys.GC_PLANS):
        data = store.get_or_none(entry.key)
        if data is None:
            continue
        plan = json.loads(data)
        if datetime.fromisoformat(plan["until"]) > datetime.now(UTC) and wanted & set(plan["keys"]):
            raise Temporary(
                "A garbage collection is deleting old objects that this snapshot has in common with an "
                "abandoned one.",
                next_step="Take it again in a minute.",
            )


def _marked(store: Store, roots: list[str], content: Iterable[str]) -> set[str]:
    """The keys of all content that records refer to, directly or through documents."""
    known = set(content)
    marked: set[str] = set()
    with ThreadPoolExecutor(_WORKERS) as pool, progress.task("Reading records", unit="records") as advance:
        texts: Iterator[tuple[str, bytes]] = _texts(pool, store, roots)
        while True:
            fresh: set[str] = set()
            tables: set[str] = set()
            for key, text in texts:
                found = _keys_in(text) & known
                _require_index(store, key, text, found)
                tables |= _tables_in(key, text)
                fresh |= found - marked
                advance(1)
            marked |= fresh
            documents = [key for key in fresh if key.startswith("manifests/")]
            tables &= fresh
            if not documents and not tables:
                return marked
            texts = _chained(_texts(pool, store, documents), _unzipped(pool, store, sorted(tables)))


def _texts(pool: ThreadPoolExecutor, store: Store, wanted: list[str]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        yield from zip(batch, (data or b"" for data in pool.map(store.get_or_none, batch)), strict=True)


def _unzipped(pool: ThreadPoolExecutor, store: Store, wanted: list[str]) -> Iterator[tuple[str, bytes]]:
    def read(key: str) -> bytes:
        data = verified(store, key, key.rpartition("/")[2])
        try:
            return zlib.decompress(data, wbits=31)
        except zlib.error as error:
            raise DataDamaged(f"{store.uri(key)} is not gzip: {error}.") from None

    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        yield from zip(batch, pool.map(read, batch), strict=True)


def _chained(*parts: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for part in parts:
        yield from part


def _keys_in(text: bytes) -> set[str]:
    digests = {digest.decode() for digest in _DIGEST.findall(text)}
    return {key(digest) for digest in digests for key in (keys.object_, keys.manifest)}


def _tables_in(key: str, text: bytes) -> set[str]:
    """The shards of rows and places that an index names: their digests lie in gzip, where no search sees."""
    if not key.startswith("manifests/") or b'"dataset-index"' not in text:
        return set()
    try:
        shards = json.loads(text)["shards"]
        return {keys.object_(digest) for shard in shards for digest in (shard["rows"], shard["places"])}
    except (ValueError, KeyError, TypeError):
        return set()


def _require_index(store: Store, key: str, text: bytes, found: set[str]) -> None:
    if not key.startswith("refs/datasets/"):
        return
    try:
        record = json.loads(text)
        wanted = {keys.manifest(record["digest"]), keys.manifest(record["index"])}
    except (ValueError, KeyError, TypeError):
        wanted = {""}
    if not wanted <= found:
        raise DataDamaged(
            f"The version {store.uri(key)} or its index cannot be read, so nobody can tell what it needs.",
            next_step="Nothing was deleted. Run goldenpath data verify.",
        )


def _sweep(store: Store, garbage: dict[str, Entry]) -> None:
    until = datetime.now(UTC) + _PLAN_LASTS
    plan = keys.gc_plan(new_attempt())
    for other in store.list(keys.GC_PLANS):
        if other.modified > datetime.now(UTC) - _PLAN_LASTS:
            raise Temporary(f"Another collection runs: {store.uri(other.key)}.", next_step="Try again later.")
        store.delete(other.key)
    store.create(plan, json.dumps({"until": until.isoformat(), "keys": sorted(garbage)}).encode())
    try:
        with (
            ThreadPoolExecutor(_WORKERS) as pool,
            progress.task("Deleting", total=len(garbage), unit="objects") as advance,
        ):
            entries = list(garbage.values())
            for start in range(0, len(entries), _BATCH):
                if datetime.now(UTC) > until - _STOP_BEFORE:
                    raise Temporary("The collection lasted too long.", next_step="Run it again to go on.")
                batch = entries[start : start + _BATCH]
                list(pool.map(lambda entry: _delete_if_same(store, entry), batch))
                advance(len(batch))
    finally:
        store.delete(plan)


def _delete_if_same(store: Store, entry: Entry) -> None:
    there = store.head(entry.key)
    if there is not None and there.modified == entry.modified:
        store.delete(entry.key)
