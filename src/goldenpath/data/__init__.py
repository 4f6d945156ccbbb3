"""Dataset versions: immutable, deduplicated, verified on every read."""

from goldenpath.data.config import SnapshotOptions
from goldenpath.data.snapshot import SnapshotResult, snapshot
from goldenpath.data.versions import Lineage, Version, history, names, resolve

__all__ = [
    "Lineage",
    "SnapshotOptions",
    "SnapshotResult",
    "Version",
    "history",
    "names",
    "resolve",
    "snapshot",
]
