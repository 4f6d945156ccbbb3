"""Dataset versions: immutable, deduplicated, verified on every read."""

from goldenpath.data.config import SnapshotOptions
from goldenpath.data.diff import DiffResult, diff
from goldenpath.data.restore import RestoreResult, restore
from goldenpath.data.snapshot import SnapshotResult, snapshot
from goldenpath.data.versions import Lineage, Version, history, names, resolve

__all__ = [
    "DiffResult",
    "Lineage",
    "RestoreResult",
    "SnapshotOptions",
    "SnapshotResult",
    "Version",
    "diff",
    "history",
    "names",
    "resolve",
    "restore",
    "snapshot",
]
