"""Checkpoints that survive anything: the library behind the components and the training helper."""

from goldenpath.checkpoint.checkpointer import Checkpointer
from goldenpath.checkpoint.info import CheckpointInfo, CheckpointStats, Restored
from goldenpath.checkpoint.policy import CheckpointPolicy, KeepBest

__all__ = ["CheckpointInfo", "CheckpointPolicy", "CheckpointStats", "Checkpointer", "KeepBest", "Restored"]
