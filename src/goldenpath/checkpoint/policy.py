"""What to save, how often, and what to keep."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class KeepBest(BaseModel):
    """Keeps the checkpoints that are best by a metric, whatever their age."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str = Field(min_length=1)
    """The metric's name, as ``save(metrics=…)`` gives it."""
    mode: Literal["min", "max"] = "max"
    """Whether the largest or the smallest value is best. NaN is never best."""
    count: int = Field(default=1, ge=1)
    """How many are kept."""


class CheckpointPolicy(BaseModel):
    """When a training loop saves, and which checkpoints stay.

    The newest checkpoint stays always. Everything that a rule names stays; the rest is pruned after
    each commit, in the background.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    every_steps: int = Field(default=0, ge=0)
    """Save at steps that this divides; 0: the steps do not decide. A hint for ``due``."""
    every_s: float = Field(default=600.0, ge=0)
    """Save when so many seconds went by since the last save; 0: the clock does not decide."""
    on_busy: Literal["wait", "skip"] = "wait"
    """What a save does while an earlier one is in flight: wait for it, or skip this step."""
    timeout_s: float = Field(default=600.0, gt=0)
    """How long one save may take to become durable, and one rank may wait for the others."""
    keep_last: int = Field(default=3, ge=1)
    """The newest ones that stay."""
    keep_best: KeepBest | None = None
    """The best ones that stay."""
    keep_every_steps: int = Field(default=0, ge=0)
    """Steps that this divides stay; 0: none for that reason."""
    keep_every_s: float = Field(default=0.0, ge=0)
    """The first checkpoint of each period of so many seconds stays; 0: none for that reason."""
    pins: tuple[int, ...] = ()
    """Steps that stay, whatever the other rules say."""
    grace_s: float = Field(default=86400.0, ge=0)
    """How old the data of a killed attempt must be before it is deleted."""
