"""Runs an evaluator as a job and keeps what it found."""

from __future__ import annotations

from dataclasses import dataclass

from goldenpath.errors import RefError
from goldenpath.evaluation.document import OUTPUT, EvaluationDocument, put_evaluation
from goldenpath.evaluation.job import EvaluationJob
from goldenpath.jobs import JobContract, JobSpec, Place, read_output, run_job
from goldenpath.refs import Kind, parse
from goldenpath.validation import validated

_RUNNER = "goldenpath.evaluation.runner"


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """What an evaluation found."""

    evaluation: str
    """The URI of the evaluation's document."""
    model: str
    dataset: str
    rows: str
    """The URI of the rows in parquet; empty where the evaluator returned none."""
    metrics: dict[str, float]
    n: int
    """The number of rows."""
    evaluator: str


def evaluate(job: EvaluationJob, *, model: str, dataset: str, source: str, place: Place) -> EvaluationResult:
    """Runs an evaluator over a model and a dataset version, as a job.

    Args:
        job: The evaluator and its parameters.
        model: The model's reference, by digest.
        dataset: The dataset version's reference, by digest.
        source: The reference of the source snapshot; empty where the image has the code.
        place: The step's store and folders.

    Raises:
        RefError: A reference is malformed or not pinned.
        UserProgramFailed: The evaluator failed, or returned what is no evaluation; its last lines are
            in the message.
    """
    for text, kind in ((model, Kind.MODELS), (dataset, Kind.DATASETS)):
        if parse(text, store=place.store.url, kind=kind).digest is None:
            raise RefError(
                f"{text!r} has no digest.",
                next_step="Evaluate a pinned reference, so that candidate and champion see the same.",
            )
    spec = job_spec(job, model=model, dataset=dataset, source=source, place=place)
    run_job(spec, backend=job.backend, place=place)
    output = read_output(place.store, run=place.run, step=place.step, name=OUTPUT)
    document = validated(
        EvaluationDocument,
        {
            "model": model,
            "dataset": dataset,
            "source": source,
            "evaluator": job.evaluator,
            "params": job.params,
            **output,
        },
        where=f"The evaluation of {model}",
    )
    return EvaluationResult(
        evaluation=put_evaluation(place.store, document),
        model=model,
        dataset=dataset,
        rows=document.rows,
        metrics=document.metrics,
        n=document.n,
        evaluator=job.evaluator,
    )


def job_spec(job: EvaluationJob, *, model: str, dataset: str, source: str, place: Place) -> JobSpec:
    """The job of an evaluation: a plain function, the same for every backend."""
    contract = JobContract(
        run=place.run,
        step=place.step,
        store=place.store.url,
        cache_dir=str(place.cache_dir.absolute()),
        params=job.params,
        tracking=place.tracking,
    )
    return JobSpec(
        contract=contract,
        entry_point=_RUNNER,
        args=(job.evaluator, model, dataset),
        accelerators_per_node=job.accelerators,
        env=job.env,
        source=source,
        image=job.image,
        queue=job.queue,
        outputs={OUTPUT: "The evaluator's module must return from its function, not end the process."},
        run_timeout_s=job.run_timeout_s,
    )
