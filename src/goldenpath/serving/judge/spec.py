"""What one step of a rollout is judged by."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class MetricSpec(BaseModel):
    """A ratio of two counters, ``bad`` of ``total``, and how much worse the canary may be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    margin: float = Field(ge=0, lt=1)
    """The largest tolerated difference of the bad shares, canary minus stable."""
    burst: bool = False
    """Whether a burst of bad requests at the canary alone fails it at once (for errors)."""


class JudgeSpec(BaseModel):
    """Everything a verdict depends on besides the samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[MetricSpec, ...] = Field(min_length=1)
    canary_share: float = Field(gt=0, lt=1)
    """The share of all requests that the canary was asked to get."""
    alpha_fail: float = Field(gt=0, lt=0.5)
    """The chance of a false FAIL in this step, split over the metrics."""
    alpha_pass: float = Field(gt=0, lt=0.5)
    """The chance of a false PASS. Not split: a bad canary must wrongly pass by every metric."""
    min_requests: int = Field(ge=1)
    """Requests that each arm must have answered before a PASS."""
    bake_s: float = Field(ge=0)
    """Seconds that a step lasts at least before a PASS."""
    warmup_s: float = Field(ge=0)
    """Seconds at the start of the step whose requests are left out."""
    stale_s: float = Field(gt=0)
    """Seconds without a readable sample after which there is no evidence."""
