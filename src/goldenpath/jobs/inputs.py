"""What a job reads from the store: a version's files, unpacked once for all processes of a machine."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from goldenpath import progress
from goldenpath.errors import GoldenPathError
from goldenpath.refs import Kind, parse
from goldenpath.store import Store


def fetched(ref: str, folder: Path, *, store: Store) -> Path:
    """A local folder with a version's files, complete and verified as soon as it is there.

    Processes that ask for the same version at once wait for the first of them.

    Args:
        ref: The reference of a dataset version, or of a source snapshot.
        folder: Where fetched versions are kept, each under its digest.
        store: The store of short references.

    Raises:
        RefError, NotFound: There is no such version.
        DataDamaged: A stored byte is not what the digest says; nothing is left behind.
        Temporary: The store is away, or the disk is full.
    """
    from goldenpath import data

    parsed = parse(ref, store=store.url, kind=Kind.DATASETS)
    digest = parsed.digest or data.resolve(ref, store=store).digest
    if digest is None:
        raise GoldenPathError(f"The version {ref} resolved to no digest.")
    complete = folder / digest
    if complete.is_dir():
        return complete
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / f"{digest}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.is_dir():
            progress.note(f"Fetching {ref}")
            data.restore(ref, complete, store=store)
    finally:
        os.close(lock)
    return complete
