"""Reading: whole objects, verified, straight to where their bytes belong."""

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
"""Objects fetched at once: with 64 MiB each, 256 MiB of memory beside the state."""


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


def fetch(store: Store, item: StoredObject) -> bytes:
    """One object, verified.

    Raises:
        DataDamaged: It is missing, or has other bytes than were written.
    """
    try:
        data = store.get(item.key)
    except NotFound:
        raise DataDamaged(f"{store.uri(item.key)} is missing.") from None
    if len(data) != item.size or hashlib.sha256(data).hexdigest() != item.sha256:
        raise DataDamaged(f"{store.uri(item.key)} is damaged: its bytes are not those that were saved.")
    return data


def _fill(store: Store, item: StoredObject, base: int, wants: list[Want]) -> int:
    data = memoryview(fetch(store, item))
    for want in wants:
        begin = max(want.start, base)
        end = min(want.start + want.length, base + len(data))
        want.sink[begin - want.start : end - want.start] = data[begin - base : end - base]
    return len(data)
