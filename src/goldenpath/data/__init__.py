"""Dataset versions: immutable, deduplicated, verified on every read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldenpath.data.config import SnapshotOptions
from goldenpath.data.diff import DiffResult, diff
from goldenpath.data.gc import GRACE, GcResult, gc
from goldenpath.data.restore import RestoreResult, restore
from goldenpath.data.snapshot import SnapshotResult, snapshot
from goldenpath.data.tags import Tag, tag, tagged, tags
from goldenpath.data.verify import Damage, VerifyResult, verify
from goldenpath.data.versions import Lineage, Version, find, history, names, open_version, resolve
from goldenpath.errors import ConfigError
from goldenpath.store import Store

if TYPE_CHECKING:
    from goldenpath.data.filesystem import VersionFileSystem

__all__ = [
    "GRACE",
    "Damage",
    "DiffResult",
    "GcResult",
    "Lineage",
    "RestoreResult",
    "SnapshotOptions",
    "SnapshotResult",
    "Tag",
    "VerifyResult",
    "Version",
    "diff",
    "find",
    "gc",
    "history",
    "names",
    "open",
    "open_version",
    "resolve",
    "restore",
    "snapshot",
    "tag",
    "tagged",
    "tags",
    "verify",
]


def open(ref: str, *, store: Store) -> VersionFileSystem:  # noqa: A001  (goldenpath.data.open is its name)
    """A version as a read-only fsspec filesystem; see ``goldenpath.data.filesystem``.

    Args:
        ref: The version; it is pinned now, and stays what it is.
        store: The store of short references.

    Raises:
        RefError, NotFound: There is no such version.
        ConfigError: fsspec is not installed.
    """
    full = str(resolve(ref, store=store))
    try:
        from goldenpath.data.filesystem import VersionFileSystem
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Reading a version in place needs the package {error.name!r}.",
            next_step="pip install 'goldenpath[data]'.",
        ) from None
    return VersionFileSystem(full)
