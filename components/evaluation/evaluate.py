"""Runs an evaluator over a model and a dataset version."""

from __future__ import annotations

from goldenpath import evaluation
from goldenpath.evaluation import EvaluationJob, EvaluationResult
from goldenpath.steps import component, current_step


@component(name="evaluation.evaluate", reuse=True)
def evaluate(*, job: EvaluationJob, model: str, dataset: str, source: str = "") -> EvaluationResult:
    """Runs the user's evaluator as a job and keeps its metrics and its rows.

    Args:
        job: The evaluator (``module:function``), its parameters and resources.
        model: The model's reference.
        dataset: The dataset version's reference.
        source: The reference of a snapshot of the working tree; empty where the image has the code.

    Returns:
        The evaluation's document, its rows, its metrics and the number of examples.
    """
    step = current_step()
    return evaluation.evaluate(
        job,
        model=model,
        dataset=dataset,
        source=source,
        place=step.place,
    )
