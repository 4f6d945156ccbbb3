"""Launches a training job and collects what it made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from goldenpath import checkpoint
from goldenpath.errors import ConfigError, UserProgramFailed
from goldenpath.jobs import JobContract, JobResult, JobSpec, Place, StartRecord, read_output, run_job
from goldenpath.refs import Kind, check_name, parse
from goldenpath.training import outputs
from goldenpath.training.config import PLAIN, TORCH_DISTRIBUTED, TrainingJob
from goldenpath.training.goodput import Goodput, Measured, goodput
from goldenpath.training.result import TrainingResult, training_result
from goldenpath.training.tracking import end_tracking, start_tracking

_HOW_TO_PUBLISH = (
    "Call `run.publish_model(folder)` inside `with goldenpath.training_run() as run:`, on every rank."
)
_LOCAL_RUNTIMES = (TORCH_DISTRIBUTED, PLAIN)


def launch(
    job: TrainingJob, *, model: str, datasets: Mapping[str, str], source: str, place: Place
) -> TrainingResult:
    """Runs a training job to its end, or adopts the one that an earlier attempt started.

    Args:
        job: What to run.
        model: The name that the model is published under.
        datasets: References by the names that the training code asks for.
        source: The reference of the source snapshot; empty where the image has the code.
        place: The step's store and folders.

    Raises:
        ConfigError, RefError: Something named does not exist or does not fit; nothing was started.
        UserProgramFailed: The program failed, timed out, or published no model.
    """
    check_name(model, Kind.MODELS)
    for ref in datasets.values():
        parse(ref, store=place.store.url, kind=Kind.DATASETS)
    if job.backend == "local" and job.runtime not in _LOCAL_RUNTIMES:
        raise ConfigError(
            f"The backend 'local' has no runtime {job.runtime!r}.",
            next_step=f"It has {' and '.join(_LOCAL_RUNTIMES)}.",
        )
    tracking_run = start_tracking(job.params, experiment=model, place=place)
    spec = job_spec(
        job, model=model, datasets=datasets, source=source, place=place, tracking_run=tracking_run
    )
    try:
        done = run_job(spec, backend=job.backend, place=place)
    except UserProgramFailed:
        end_tracking(tracking_run, place=place, status="FAILED")
        raise
    except (KeyboardInterrupt, SystemExit):
        end_tracking(tracking_run, place=place, status="KILLED")
        raise
    end_tracking(tracking_run, place=place, status="FINISHED")
    saved = checkpoint.list_checkpoints(place.run, store=place.store)
    return training_result(
        done,
        read_output(place.store, run=place.run, step=place.step, name=outputs.MODEL),
        run=place.run,
        step=place.step,
        checkpoint=saved[-1].ref if saved else "",
        accelerators=job.accelerators,
        goodput=_goodput(done, saved, place),
    )


def job_spec(
    job: TrainingJob,
    *,
    model: str,
    datasets: Mapping[str, str],
    source: str,
    place: Place,
    tracking_run: str,
) -> JobSpec:
    """The job of a training configuration: a plain function, the same for every backend."""
    contract = JobContract(
        run=place.run,
        step=place.step,
        store=place.store.url,
        cache_dir=str(place.cache_dir.absolute()),
        model_name=model,
        datasets=datasets,
        params=job.params,
        checkpoint=job.checkpoint.model_dump(mode="json"),
        tracking=place.tracking,
        tracking_run=tracking_run,
        grace_s=job.grace_s,
    )
    return JobSpec(
        contract=contract,
        entry_point=job.entry_point,
        args=job.args,
        torchrun=job.runtime == TORCH_DISTRIBUTED,
        nodes=job.nodes,
        processes_per_node=job.processes_per_node,
        accelerators_per_node=job.accelerators_per_node,
        env=job.env,
        source=source,
        image=job.image,
        queue=job.queue,
        priority=job.priority,
        topology=job.topology,
        runtime=job.runtime,
        outputs={outputs.MODEL: _HOW_TO_PUBLISH},
        max_restarts=job.max_restarts,
        queue_timeout_s=job.queue_timeout_s,
        run_timeout_s=job.run_timeout_s,
    )


def _goodput(done: JobResult, saved: Sequence[checkpoint.CheckpointInfo], place: Place) -> Goodput:
    saved_at = {info.attempt: datetime.fromisoformat(info.created_at).timestamp() for info in saved}
    return goodput(done.starts, _measured(done.starts, place), saved_at, queued_s=done.queued_s)


def _measured(starts: Sequence[StartRecord], place: Place) -> dict[str, Measured]:
    found = {
        start.attempt: read_output(
            place.store, run=place.run, step=place.step, name=outputs.measured(start.attempt)
        )
        for start in starts
    }
    adapter = TypeAdapter(Measured)
    return {attempt: adapter.validate_python(value) for attempt, value in found.items() if value is not None}
