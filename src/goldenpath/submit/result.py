"""How a run ended, read from its records: the same for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goldenpath.errors import NotFound
from goldenpath.journal import Journal
from goldenpath.provenance import Outcome, StepRecord

EXIT_CODES: dict[Outcome, int] = {
    Outcome.PROMOTED: 0,
    Outcome.REGISTERED: 0,
    Outcome.UNCHANGED: 0,
    Outcome.REFUSED: 3,
    Outcome.NO_EVIDENCE: 3,
    Outcome.PAUSED: 3,
    Outcome.ROLLED_BACK: 4,
    Outcome.FAILED: 1,
    Outcome.CANCELLED: 1,
}
"""The exit code that tells who must act."""


@dataclass(frozen=True, kw_only=True)
class PathResult:
    """One run in a few values. References are full; what a run did not come to is empty."""

    outcome: Outcome
    reason: str
    run: str
    path: str
    model: str
    """The model of this run: with its number once registered."""
    dataset: str
    """The dataset version that the model was trained on (the first one)."""
    champion: str
    """The model that serves at the end."""
    compared_with: str
    """The champion at the start, which the model was judged against."""
    metrics: dict[str, float]
    """The model's metrics on the held-out dataset."""
    compared_metrics: dict[str, float]
    """The metrics of ``compared_with`` on the same dataset."""
    report: str
    rollout: str
    url: str
    same_as: str
    """For 'unchanged': the run that had answered already, whose values these are."""

    @property
    def exit_code(self) -> int:
        """The command's exit code."""
        return EXIT_CODES[self.outcome]


def read_result(journal: Journal, run: str) -> PathResult:
    """Reads a finished run's result.

    Raises:
        NotFound: The run has no outcome (yet).
    """
    end, record = journal.outcome(run), journal.run(run)
    if end is None or record is None:
        raise NotFound(f"The run {run} has no outcome.", next_step="It may be running, or was killed.")
    told_by = end.same_as or run
    steps = journal.steps(told_by)
    trained = _outputs(steps, "training.launch")
    pinned = _step(steps, "run.pin")
    registered = _outputs(steps, "registry.register")
    promoted = _outputs(steps, "serving.promote")
    compared_with = pinned.outputs.get("champion", "") if pinned else ""
    gated = _step(steps, "evaluation.gate")
    judged = gated.inputs if gated else {}
    return PathResult(
        outcome=end.outcome,
        reason=end.reason,
        run=run,
        path=record.path,
        model=registered.get("model", trained.get("model", "")),
        dataset=_dataset(steps),
        champion=promoted.get("champion", compared_with),
        compared_with=compared_with,
        metrics=_metrics(steps, judged.get("candidate", "")),
        compared_metrics=_metrics(steps, judged.get("champion", "")),
        report=gated.outputs.get("report", "") if gated else "",
        rollout=promoted.get("rollout", ""),
        url=promoted.get("url", ""),
        same_as=end.same_as,
    )


def _step(steps: list[StepRecord], component: str) -> StepRecord | None:
    return next((step for step in steps if step.component == component), None)


def _outputs(steps: list[StepRecord], component: str) -> dict[str, Any]:
    found = _step(steps, component)
    return found.outputs if found else {}


def _metrics(steps: list[StepRecord], evaluation: str) -> dict[str, float]:
    """The metrics of one evaluation's document."""
    for step in steps:
        if step.component == "evaluation.evaluate" and step.outputs["evaluation"] == evaluation:
            found: dict[str, float] = step.outputs["metrics"]
            return found
    return {}


def _dataset(steps: list[StepRecord]) -> str:
    trained = _step(steps, "training.launch")
    datasets: dict[str, str] = trained.inputs["datasets"] if trained else {}
    return next(iter(datasets.values()), "")
