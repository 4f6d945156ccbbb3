"""Checkpoints that survive anything: the library behind the components and the training helper."""

from goldenpath.checkpoint.catalogue import list_checkpoints, mean_stall_s, resolve, select, verify
from goldenpath.checkpoint.checkpointer import Checkpointer
from goldenpath.checkpoint.info import CheckpointInfo, CheckpointStats, Restored
from goldenpath.checkpoint.plain_files import export
from goldenpath.checkpoint.policy import CheckpointPolicy, KeepBest
from goldenpath.checkpoint.retention import Prune, prune
from goldenpath.checkpoint.tree import PerRank

__all__ = [
    "CheckpointInfo",
    "CheckpointPolicy",
    "CheckpointStats",
    "Checkpointer",
    "KeepBest",
    "PerRank",
    "Prune",
    "Restored",
    "export",
    "list_checkpoints",
    "mean_stall_s",
    "prune",
    "resolve",
    "select",
    "verify",
]
