"""Reading: whole objects, straight to where their bytes belong, hashed on the way.

Bytes are in their place before their object's digest is known; whoever reads gets DataDamaged then,
and must not use what was filled.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from goldenpath import progress
from goldenpath.checkpoint.manifest import Manifest, StoredObject
from goldenpath.errors import DataDamaged, NotFound
from goldenpath.store import Store

WORKERS = 4
"""Objects fetched at once."""


@dataclass(frozen=True, slots=True)
class Want:
    """``length`` bytes from ``start`` of a rank's stream, to be written into ``sink``."""

    rank: int
    start: int
    length: int
    sink: memoryview


def read_streams(store: Store, manifest: Manifest, wants: Iterable[Want]) -> None:
    """Fetches and verifies every object that is needed, each once, and fills the sinks.

    Raises:
        DataDamaged: An object is missing, or has other bytes than were written.
    """
    by_object: dict[tuple[int, int], list[Want]] = defaultdict(list)
    for want in wants:
        if want.length:
            first = want.start // manifest.part_size
            last = (want.start + want.length - 1) // manifest.part_size
            for index in range(first, last + 1):
                by_object[want.rank, index].append(want)
    total = sum(manifest.parts[rank].objects[index].size for rank, index in by_object)
    title = f"Loading {manifest.run}:{manifest.step}"
    with progress.task(title, total=total, unit="B") as advance, ThreadPoolExecutor(WORKERS) as pool:
        futures = [
            pool.submit(_fill, store, manifest.parts[rank].objects[index], index * manifest.part_size, found)
            for (rank, index), found in by_object.items()
        ]
        done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
        for future in waiting:
            future.cancel()
        for future in done:
            advance(future.result())


def check(store: Store, item: StoredObject) -> None:
    """Reads one object and compares it with its digest.

    Raises:
        DataDamaged: It is missing, or has other bytes than were written.
    """
    _fill(store, item, 0, [])


def _fill(store: Store, item: StoredObject, base: int, wants: list[Want]) -> int:
    digest, position = hashlib.sha256(), 0
    try:
        for data in store.chunks(item.key):
            if position + len(data) > item.size:
                raise _damaged(store, item)
            digest.update(data)
            _scatter(data, base + position, wants)
            position += len(data)
    except NotFound:
        raise DataDamaged(f"{store.uri(item.key)} is missing.") from None
    if position != item.size or digest.hexdigest() != item.sha256:
        raise _damaged(store, item)
    return position


def _scatter(data: memoryview, place: int, wants: list[Want]) -> None:
    for want in wants:
        begin = max(want.start, place)
        end = min(want.start + want.length, place + len(data))
        if begin < end:
            want.sink[begin - want.start : end - want.start] = data[begin - place : end - place]


def _damaged(store: Store, item: StoredObject) -> DataDamaged:
    return DataDamaged(f"{store.uri(item.key)} is damaged: its bytes are not those that were saved.")
