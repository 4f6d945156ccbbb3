"""Tells what differs between two versions of a dataset."""

from __future__ import annotations

from goldenpath import data
from goldenpath.data import DiffResult
from goldenpath.steps import component, current_step


@component(name="data.diff")
def diff(*, old: str, new: str) -> DiffResult:
    """Counts the files added, removed and changed between two dataset versions.

    Args:
        old: The reference of the earlier version.
        new: The reference of the later version.

    Returns:
        Counts, bytes and the first names of each kind.
    """
    return data.diff(old, new, store=current_step().store)
