"""Takes an immutable version of some data."""

from __future__ import annotations

from pathlib import Path

from goldenpath import data
from goldenpath.data import Lineage, SnapshotOptions, SnapshotResult
from goldenpath.steps import component, current_step


@component(name="data.snapshot")
def snapshot(*, source: str, name: str, options: SnapshotOptions = SnapshotOptions()) -> SnapshotResult:
    """Takes an immutable version of a folder, a file or an object prefix.

    The same content gives the same version: nothing new is committed and ``changed`` is false.

    Args:
        source: A local path or the URL of an object prefix.
        name: The dataset's name.
        options: What to leave out.

    Returns:
        The version's reference, with number and digest, and what it holds.
    """
    step = current_step()
    lineage = Lineage(run=step.run.run, step=step.step, code=step.run.code)
    return data.snapshot(
        source,
        name,
        store=step.store,
        options=options,
        lineage=lineage,
        cache_dir=Path(step.run.settings.cache_dir),
    )
