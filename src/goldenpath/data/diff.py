"""What differs between two versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from goldenpath.data.manifest import Stored
from goldenpath.data.rows import Row, order
from goldenpath.data.versions import open_version
from goldenpath.store import Store

_NAMES = 20


@dataclass(frozen=True, kw_only=True)
class DiffResult:
    """Counts of files, links and empty folders; ``bytes`` is the size of those added and changed."""

    added: int
    removed: int
    changed: int
    bytes: int
    identical: bool
    names: tuple[str, ...]
    """The first of each kind: ``+ path`` added, ``- path`` removed, ``~ path`` changed."""


class Change(StrEnum):
    """What became of a path."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


def diff(old: str, new: str, *, store: Store) -> DiffResult:
    """Compares two versions by their manifests; shards that both have are never read.

    Args:
        old: The reference of the earlier version.
        new: The reference of the later version.
        store: The store of short references.

    Raises:
        RefError, NotFound: There is no such version.
        DataDamaged: A manifest is damaged.
    """
    counts = dict.fromkeys(Change, 0)
    names: dict[Change, list[str]] = {change: [] for change in Change}
    size = 0
    for change, row in changes(open_version(old, store=store)[1], open_version(new, store=store)[1]):
        counts[change] += 1
        if change is not Change.REMOVED:
            size += row.size
        if len(names[change]) < _NAMES:
            names[change].append(f"{change.value} {row.path}")
    return DiffResult(
        added=counts[Change.ADDED],
        removed=counts[Change.REMOVED],
        changed=counts[Change.CHANGED],
        bytes=size,
        identical=not any(counts.values()),
        names=tuple(name for change in Change for name in names[change]),
    )


def changes(old: Stored, new: Stored) -> Iterator[tuple[Change, Row]]:
    """Every path that differs, in order, with its row in the new version (removed: in the old)."""
    left, right = _own_rows(old, new), _own_rows(new, old)
    a, b = next(left, None), next(right, None)
    while a is not None or b is not None:
        if b is None or (a is not None and order(a.path) < order(b.path)):
            assert a is not None  # noqa: S101  (for the type checker: not both are None)
            yield Change.REMOVED, a
            a = next(left, None)
        elif a is None or order(b.path) < order(a.path):
            yield Change.ADDED, b
            b = next(right, None)
        else:
            if a != b:
                yield Change.CHANGED, b
            a, b = next(left, None), next(right, None)


def _own_rows(of: Stored, other: Stored) -> Iterator[Row]:
    """The rows of all shards that the other does not have."""
    shared = {shard.sha256 for shard in other.manifest.shards}
    for number, shard in enumerate(of.manifest.shards):
        if shard.sha256 not in shared:
            yield from of.shard_rows(number)
