"""What training code imports: ``with goldenpath.training_run() as run``."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldenpath.errors import ConfigError, GoldenPathError
from goldenpath.jobs import JobContract, fetched, from_environment, read_output, write_output
from goldenpath.jobs.logs import PROGRESS_MARK
from goldenpath.provenance import canonical_json
from goldenpath.store import Store, keys, open_store
from goldenpath.training import outputs
from goldenpath.training.metrics import MetricLog, finite
from goldenpath.training.ranks import Ranks
from goldenpath.training.stopping import StopSignal

if TYPE_CHECKING:
    from goldenpath.checkpoint import Checkpointer

_PROGRESS_S = 1.0


class TrainingRun:
    """The job as one of its processes sees it. Made by ``training_run``."""

    def __init__(self, contract: JobContract, ranks: Ranks) -> None:
        self._contract = contract
        self._ranks = ranks
        self._stop = StopSignal()
        self._metrics = MetricLog(
            tracking=contract.tracking, tracking_run=contract.tracking_run if ranks.rank == 0 else ""
        )
        self._checkpointer: Checkpointer | None = None
        self._entered_at = time.time()
        self._fetching_s = 0.0
        self._told_at = 0.0

    @property
    def name(self) -> str:
        """The run's name."""
        return self._contract.run

    @property
    def rank(self) -> int:
        """This process's number among all of the job; 0 for a plain process."""
        return self._ranks.rank

    @property
    def world_size(self) -> int:
        """How many processes the job has."""
        return self._ranks.world_size

    @property
    def local_rank(self) -> int:
        """This process's number among those of its machine: the usual index of its accelerator."""
        return self._ranks.local_rank

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the configuration."""
        return dict(self._contract.params)

    def dataset(self, name: str) -> Path:
        """The folder with a dataset's files, verified; fetched once for all processes of the machine.

        The folder is shared with other runs: read it, never write into it.

        Args:
            name: The name under ``data`` in the path's configuration.

        Raises:
            ConfigError: The job was given no such dataset.
            DataDamaged: The stored bytes are not those of the reference.
        """
        refs = self._contract.datasets
        if name not in refs:
            raise ConfigError(
                f"This job has no dataset {name!r}.", next_step=f"It has: {', '.join(refs) or 'none'}."
            )
        started = time.monotonic()
        try:
            return fetched(refs[name], Path(self._contract.cache_dir) / "datasets", store=self._store)
        finally:
            self._fetching_s += time.monotonic() - started

    def checkpointer(self) -> Checkpointer:
        """The checkpointer of this job, with the configured policy; the same one at each call.

        Call it on every rank, after ``init_process_group`` where torch.distributed is used. It is
        closed at the end of ``training_run``.

        Raises:
            ConfigError: Another step of this run has checkpoints already.
        """
        if self._checkpointer is None:
            from goldenpath.checkpoint import Checkpointer, CheckpointPolicy

            self._own_checkpoints()
            self._checkpointer = Checkpointer(
                store=self._store,
                run=self._contract.run,
                attempt=self._contract.attempt,
                rank=self.rank,
                world_size=self.world_size,
                policy=CheckpointPolicy.model_validate(self._contract.checkpoint or {}),
            )
        return self._checkpointer

    def progress(self, *, step: int, total: int | None = None, **metrics: Any) -> None:
        """Tells how far training is: a line in the log, and metrics on the tracking server.

        Rank 0 tells, at most once a second; the other ranks' calls do nothing.

        Args:
            step: Steps done, in the loop's own unit.
            total: Steps in all, if that is known.
            metrics: Numbers of this step, such as ``loss=0.1``.
        """
        if self.rank != 0:
            return
        numbers = {name: float(value) for name, value in metrics.items()}
        self._metrics.add(numbers, step=step)
        now = time.monotonic()
        if self._told_at and now - self._told_at < _PROGRESS_S and step != total:
            return
        self._told_at = now
        of = f"/{total}" if total else ""
        _say(" ".join([f"step {step}{of}", *(f"{name}={value:.6g}" for name, value in numbers.items())]))

    @property
    def should_stop(self) -> bool:
        """Whether the job is being ended: save, and leave the loop.

        With torch.distributed all ranks must ask equally often, and get the same answer at the same
        time; without it each rank answers for itself.
        """
        return self._stop.agreed()

    def publish_model(
        self,
        path: str | Path,
        metrics: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Publishes a folder as the job's model. Rank 0 writes; on the other ranks nothing happens.

        Where the folder is one of MLflow's, its ``MLmodel`` is rewritten without ids, times and local
        paths: the same weights are then the same model.

        Args:
            path: The folder with the model's files.
            metrics: Numbers that go into the training result; NaN and infinite ones are left out.
            metadata: JSON values kept with the model.

        Returns:
            The model's reference by digest on rank 0, None on the others.

        Raises:
            ConfigError: The job was started without a model's name.
            InputError: There is no such folder, or a value is no JSON.
        """
        contract = self._contract
        if not contract.model_name:
            raise ConfigError(f"The job of {contract.run}/{contract.step} is not to publish a model.")
        if self.rank != 0:
            return None
        from goldenpath import registry

        numbers = finite(metrics or {}, what="publish_model")
        about = {
            **(metadata or {}),
            "run": contract.run,
            "step": contract.step,
            "attempt": contract.attempt,
            "datasets": dict(contract.datasets),
            "params": dict(contract.params),
            "metrics": numbers,
        }
        canonical_json(about)  # Told before the upload, not after it.
        registry.settle_wrapper(Path(path))
        ref = registry.publish(Path(path), contract.model_name, store=self._store, metadata=about)
        value = {"ref": ref, "metrics": numbers, "attempt": contract.attempt}
        kept: str = write_output(contract, outputs.MODEL, value)["ref"]
        _say(f"published {kept}")
        return kept

    @property
    def _store(self) -> Store:
        return open_store(self._contract.store)

    def _own_checkpoints(self) -> None:
        """Checkpoints are kept by run: a second training step would go on from the first one's."""
        run, step = self._contract.run, self._contract.step
        key, mine = keys.run_checkpointing(run), canonical_json({"step": step})
        if not self._store.create(key, mine) and self._store.get(key) != mine:
            raise ConfigError(
                f"The checkpoints of run {run} are another step's, not those of {step!r}.",
                next_step="Give each training that saves checkpoints a run of its own.",
            )

    def _close(self, *, failed: bool) -> None:
        if self._checkpointer is not None and not failed:
            # After a failure the other ranks may never come to the save that this one waits for.
            self._checkpointer.close()
        if self.rank == 0:
            self._keep_measured()
        self._metrics.close()
        self._stop.close()

    def _keep_measured(self) -> None:
        stats = self._checkpointer.stats if self._checkpointer is not None else None
        value = {
            "entered_at": self._entered_at,
            "fetching_s": self._fetching_s,
            "saving_s": stats.saving_s if stats else 0.0,
            "loading_s": stats.loading_s if stats else 0.0,
        }
        try:
            write_output(self._contract, outputs.measured(self._contract.attempt), value)
        except GoldenPathError as error:
            _say(f"the measured times could not be kept: {error}")


@contextlib.contextmanager
def training_run() -> Iterator[TrainingRun]:
    """The job that this process belongs to.

    A start that finds the model published already, by an earlier start that failed afterwards, ends
    here with exit code 0.

    Raises:
        ConfigError: The process belongs to no job.
    """
    contract = from_environment()
    if not contract.attempt:
        raise ConfigError("GOLDENPATH_JOB_ATTEMPT is not set: the backend must name each start of a job.")
    published = read_output(
        open_store(contract.store), run=contract.run, step=contract.step, name=outputs.MODEL
    )
    if published is not None and published["attempt"] != contract.attempt:
        _say(f"published already: {published['ref']}")
        raise SystemExit(0)
    run = TrainingRun(contract, Ranks.from_environment())
    failed = True
    try:
        yield run
        failed = False
    finally:
        run._close(failed=failed)


def _say(text: str) -> None:
    sys.stdout.write(f"{PROGRESS_MARK}{text}\n")
    sys.stdout.flush()
