"""Runs a training entry point as a job."""

from __future__ import annotations

from goldenpath import training
from goldenpath.steps import component, current_step
from goldenpath.training import TrainingJob, TrainingResult


@component(name="training.launch", reuse=True)
def launch(*, job: TrainingJob, model: str, datasets: dict[str, str], source: str = "") -> TrainingResult:
    """Runs a training entry point and returns the model that it published.

    Waiting in a queue is not a failure, and a preempted job goes on from its last checkpoint. Run
    again, the step adopts the job that an earlier attempt started.

    Args:
        job: What to run: entry point, nodes, processes, queue, parameters, checkpoint policy.
        model: The name that the model is published under.
        datasets: References of dataset versions by the names that the training code asks for.
        source: The reference of a snapshot of the working tree; empty where the image has the code.

    Returns:
        The model's reference (by digest), the last checkpoint, metrics, times, cost and goodput.
    """
    step = current_step()
    return training.launch(
        job,
        model=model,
        datasets=datasets,
        source=source,
        place=step.place,
    )
