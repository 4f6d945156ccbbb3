"""Dataset versions: immutable, deduplicated, verified on every read."""

from goldenpath.data.config import SnapshotOptions
from goldenpath.data.diff import DiffResult, diff
from goldenpath.data.gc import GRACE, GcResult, gc
from goldenpath.data.restore import RestoreResult, restore
from goldenpath.data.snapshot import SnapshotResult, snapshot
from goldenpath.data.tags import Tag, tag, tagged, tags
from goldenpath.data.verify import Damage, VerifyResult, verify
from goldenpath.data.versions import Lineage, Version, find, history, names, open_version, resolve

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
    "open_version",
    "resolve",
    "restore",
    "snapshot",
    "tag",
    "tagged",
    "tags",
    "verify",
]
