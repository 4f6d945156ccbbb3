"""Uploading a rank's stream: objects in parallel, each with its digest, all before a deadline."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from goldenpath.checkpoint.manifest import StoredObject
from goldenpath.errors import Temporary
from goldenpath.store import Store, keys

WORKERS = 4
"""Objects in flight at once."""


def upload(
    store: Store,
    data: memoryview,
    *,
    run: str,
    attempt: str,
    step: int,
    rank: int,
    part_size: int,
    timeout_s: float,
) -> tuple[StoredObject, ...]:
    """Cuts a stream into objects and writes them, under keys that only this attempt has.

    Raises:
        Temporary: The store is away, or took longer than ``timeout_s``. Whatever is raised, threads may
            still be reading the memory.
    """
    started = time.monotonic()
    blocks = [data[start : start + part_size] for start in range(0, len(data), part_size)]
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="checkpoint-upload")
    try:
        futures = [
            pool.submit(_put, store, keys.checkpoint_object(run, attempt, step, rank, index), block)
            for index, block in enumerate(blocks)
        ]
        done, waiting = wait(futures, timeout=timeout_s, return_when=FIRST_EXCEPTION)
        failed = [error for future in done if (error := future.exception()) is not None]
        if failed:
            raise failed[0]
        if waiting:
            raise Temporary(
                f"{len(waiting)} of {len(blocks)} objects of {run}:{step} were not uploaded after "
                f"{time.monotonic() - started:.0f} s.",
                next_step="Look at the store, or raise the policy's timeout_s.",
            )
        return tuple(future.result() for future in futures)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _put(store: Store, key: str, block: memoryview) -> StoredObject:
    digest = hashlib.sha256(block).hexdigest()
    store.put(key, block)
    return StoredObject(key=key, size=len(block), sha256=digest)
