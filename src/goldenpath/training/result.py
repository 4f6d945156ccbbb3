"""What a training step returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goldenpath.errors import DataDamaged
from goldenpath.jobs import Failure, JobIdentity, JobResult
from goldenpath.training.goodput import Goodput


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the accelerators cost."""

    amount: float
    currency: str


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """How a training job ended, and what it made and took. Times in seconds."""

    state: str
    """``succeeded``: a job that failed makes its step fail."""
    run: str
    step: str
    job: JobIdentity
    model: str
    """The published model's reference, by digest."""
    checkpoint: str
    """The newest checkpoint's reference; empty where none was saved."""
    metrics: dict[str, float]
    """What the training code published with the model."""
    attempts: int
    """How often the program was started."""
    evictions: int
    """Starts that ended through no fault of the program."""
    restarts: int
    """Starts after the program had failed."""
    queued_s: float
    running_s: float
    """All starts together."""
    accelerator_hours: float
    cost: Cost | None
    """None where no price is known, as on this machine."""
    goodput: Goodput
    logs: tuple[str, ...]
    """The log of each start in the store, the oldest first."""
    failure: Failure | None = None


def training_result(
    job: JobResult,
    published: Any,
    *,
    run: str,
    step: str,
    checkpoint: str,
    accelerators: int,
    goodput: Goodput,
) -> TrainingResult:
    """Puts a finished job's values together.

    Args:
        job: The job.
        published: Its output ``model``.
        run: The run.
        step: The step.
        checkpoint: The newest checkpoint's reference, or an empty string.
        accelerators: How many accelerators all nodes held.
        goodput: Where the time went.

    Raises:
        DataDamaged: The output is not one that ``publish_model`` writes.
    """
    try:
        model, metrics = str(published["ref"]), {k: float(v) for k, v in published["metrics"].items()}
    except (TypeError, KeyError, AttributeError, ValueError):
        raise DataDamaged(f"The output 'model' of {run}/{step} is {published!r}.") from None
    return TrainingResult(
        state=job.state.value,
        run=run,
        step=step,
        job=job.job,
        model=model,
        checkpoint=checkpoint,
        metrics=metrics,
        attempts=len(job.starts),
        evictions=job.evictions,
        restarts=job.restarts,
        queued_s=job.queued_s,
        running_s=job.running_s,
        accelerator_hours=accelerators * job.running_s / 3600,
        cost=None,
        goodput=goodput,
        logs=job.logs,
        failure=job.failure,
    )
