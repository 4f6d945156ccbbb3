"""Picks one checkpoint of a run."""

from __future__ import annotations

from typing import Literal

from goldenpath import checkpoint
from goldenpath.checkpoint import CheckpointInfo
from goldenpath.steps import component, current_step


@component(name="checkpointing.select")
def select(*, run: str, metric: str = "", mode: Literal["min", "max"] = "max") -> CheckpointInfo:
    """Picks the newest valid checkpoint of a run, or the best one by a metric.

    Args:
        run: The run whose checkpoints are looked at.
        metric: The metric that decides; empty for the newest.
        mode: Whether the largest or the smallest value is best.

    Returns:
        The checkpoint's reference, step, size and metrics.
    """
    return checkpoint.select(run, store=current_step().store, metric=metric, mode=mode)
