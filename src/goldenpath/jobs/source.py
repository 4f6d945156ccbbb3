"""The user's code: a snapshot, unpacked under the program."""

from __future__ import annotations

import shutil
from pathlib import Path

from goldenpath import progress
from goldenpath.errors import RefError
from goldenpath.refs import Kind, parse
from goldenpath.store import Store


def restored_source(ref: str, folder: Path, *, store: Store) -> Path:
    """The folder with a snapshot's files, unpacked once; it is complete as soon as it is there.

    Args:
        ref: The snapshot's reference, pinned by its digest.
        folder: Where unpacked sources are kept.
        store: The run's store.

    Raises:
        RefError: The reference has no digest.
        DataDamaged: A stored byte is not what the digest says.
    """
    from goldenpath import data

    digest = parse(ref, store=store.url, kind=Kind.DATASETS).digest
    if digest is None:
        raise RefError(
            f"The source {ref!r} has no digest.", next_step="Pass the reference of a snapshot step."
        )
    complete = folder / digest[:16]
    if complete.is_dir():
        return complete
    scratch = folder / f"{digest[:16]}.partial"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.parent.mkdir(parents=True, exist_ok=True)
    progress.note(f"Unpacking the source {ref}")
    data.restore(ref, scratch, store=store)
    scratch.rename(complete)
    return complete
