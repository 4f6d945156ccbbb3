"""Samples: cumulative counters of both arms at a moment."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Arm(BaseModel):
    """One arm's counters since its start; they fall only when it restarts."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    requests: float
    """Requests that were sent to the arm, answered or not."""
    metrics: dict[str, tuple[float, float]]
    """For each metric: (bad, total)."""


class Sample(BaseModel):
    """What one look at the metrics source gave. Without arms the source could not be read."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    at: float
    """Seconds since the epoch."""
    stable: Arm | None = None
    canary: Arm | None = None
    canary_ready: bool = True
    problem: str = ""
    """Why there are no arms."""
