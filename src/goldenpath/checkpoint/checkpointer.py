"""The checkpointer of a training loop: saves in the background, resumes from the newest valid step."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from goldenpath import progress
from goldenpath.checkpoint import retention
from goldenpath.checkpoint.commit import Committer, Outcome, Verdict, rebuilt
from goldenpath.checkpoint.coordinator import Coordinator, coordinator_for
from goldenpath.checkpoint.info import CheckpointInfo, CheckpointStats, Restored
from goldenpath.checkpoint.layout import PART_SIZE
from goldenpath.checkpoint.loading import load, own_paths
from goldenpath.checkpoint.manifest import ATTEMPT, Manifest
from goldenpath.checkpoint.policy import CheckpointPolicy
from goldenpath.checkpoint.resume import Resume
from goldenpath.checkpoint.saving import RankSaver
from goldenpath.errors import GoldenPathError, InputError, Temporary
from goldenpath.refs import Kind, check_name
from goldenpath.store import Store, keys


class Checkpointer:
    """Saves and restores the state of one run; one for each process of the job.

    Every rank makes the same calls in the same order. A state is a tree of dicts, lists and tuples
    with numbers, texts, numpy arrays and torch tensors; what ranks have of their own is marked
    ``PerRank``. With torch, make it after ``init_process_group`` and close it before
    ``destroy_process_group``.

    Example:
        >>> checkpointer = Checkpointer(store=store, run="run-1", attempt=new_attempt())
        >>> found = checkpointer.restore()
        >>> first = found.step + 1 if found else 0
        >>> for step in range(first, steps):
        ...     train(step)
        ...     if checkpointer.due(step):
        ...         checkpointer.save(step, {"model": model.state_dict(), "rng": PerRank(rng_state())})
        >>> checkpointer.close()
    """

    def __init__(
        self,
        *,
        store: Store,
        run: str,
        attempt: str,
        rank: int = 0,
        world_size: int = 1,
        policy: CheckpointPolicy = CheckpointPolicy(),
        coordinator: Coordinator | None = None,
        part_size: int = PART_SIZE,
    ) -> None:
        """Prepares; nothing is written yet.

        Args:
            store: Where checkpoints are kept.
            run: The run that they belong to.
            attempt: 8 hexadecimal digits that no other start of this job has; equal on all ranks.
            rank: This process's rank.
            world_size: How many ranks there are.
            policy: When to save and what to keep.
            coordinator: How ranks agree; by default torch's group, else the store.
            part_size: Bytes of one object in the store.

        Raises:
            InputError: A name or the rank is wrong.
        """
        check_name(run, Kind.CHECKPOINTS)
        if not ATTEMPT.fullmatch(attempt):
            raise InputError(f"The attempt {attempt!r} is not 8 hexadecimal digits.")
        if not 0 <= rank < world_size:
            raise InputError(f"The rank {rank} is outside 0..{world_size - 1}.")
        self._store, self._run, self._attempt, self._policy = store, run, attempt, policy
        self._rank, self._world_size = rank, world_size
        self._coordinator = coordinator or coordinator_for(
            store=store,
            run=run,
            attempt=attempt,
            rank=rank,
            world_size=world_size,
            timeout_s=policy.timeout_s,
        )
        if rank == 0:
            _check_unused(store, run, attempt)
        self._committer = Committer(store=store, run=run, attempt=attempt, part_size=part_size)
        self._saver = RankSaver(
            store=store,
            run=run,
            attempt=attempt,
            rank=rank,
            world_size=world_size,
            part_size=part_size,
            timeout_s=policy.timeout_s,
        )
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="checkpoint-save")
        self._janitor = ThreadPoolExecutor(1, thread_name_prefix="checkpoint-prune")
        self._pending: list[Future[None]] = []
        self._pruning: Future[None] | None = None
        self._last_step: int | None = None
        self._last_save = time.monotonic()
        self._committed: CheckpointInfo | None = None
        self._failure: GoldenPathError | None = None
        self._stats = CheckpointStats()
        self._counting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def stats(self) -> CheckpointStats:
        """What saving and loading cost so far."""
        return self._stats

    def due(self, step: int) -> bool:
        """Whether the policy wants a save at this step; the same answer on every rank.

        With ``every_s`` rank 0's clock decides, and each call broadcasts one byte.

        Raises:
            ConfigError: ``every_s`` is set, and several ranks have no torch group.
        """
        by_step = self._policy.every_steps > 0 and step % self._policy.every_steps == 0
        if self._policy.every_s == 0:
            return by_step
        by_clock = time.monotonic() - self._last_save >= self._policy.every_s
        return self._coordinator.same(by_step or by_clock)

    def save(self, step: int, state: Any, *, metrics: Mapping[str, float] | None = None) -> bool:
        """Copies the state, and uploads and commits it in the background.

        When this returns, the state may be changed. A store that is away does not stop training: the
        save is counted as failed, and the next one tries again.

        Args:
            step: The training step; larger than every step saved or restored before.
            state: What to save; the same structure on every rank.
            metrics: Numbers to choose checkpoints by. Rank 0's are kept, and only finite ones.

        Returns:
            False where an earlier save is still in flight and the policy skips.

        Raises:
            InputError: The step goes back, or something cannot be stored without pickle.
            GoldenPathError: Nothing could be committed so far, and trying again will not help.
        """
        started = time.monotonic()
        try:
            self._check_step(step)
            self._raise_hopeless()
            self._last_save = started
            self._last_step = step
            if self._policy.on_busy == "skip" and self._is_busy():
                progress.note(f"Checkpoint {self._run}:{step} is skipped: the one before is in flight.")
                self._submit(lambda: Outcome(step=step, skipped=True), started)
                return False
            self._settle()
            try:
                finish = self._saver.stage(step, state, _finite(metrics or {}, step))
            except InputError as error:
                failed = self._saver.failure(step, error)
                self._submit(lambda: failed, started)
                raise
            self._submit(finish, started)
            return True
        finally:
            self._add(saving_s=time.monotonic() - started)

    def restore(self, state: Any = None) -> Restored | None:
        """Loads the newest valid checkpoint of the run; see ``goldenpath.checkpoint.resume``.

        Args:
            state: A state of the same structure to fill in place, sharded as this job shards it, on
                any number of ranks. Without it new arrays are made, whole on every rank.

        Returns:
            None where the run has no checkpoint yet.

        Raises:
            InputError: ``state`` is another model's.
            DataDamaged: There are checkpoints, and none can be read.
            Temporary: The store or a rank is away.
        """
        started = time.monotonic()
        try:
            self._settle()
            resume = Resume(store=self._store, run=self._run, coordinator=self._coordinator)

            def load_one(manifest: Manifest) -> Any:
                rank = min(self._rank, manifest.world_size - 1)
                return load(self._store, manifest, rank=rank, world_size=self._world_size, into=state)

            found = resume.find(load_one)
            self._committer.damaged = frozenset(resume.damaged)
            if found is None:
                return None
            manifest, digest, loaded = found
            self._last_step = manifest.step
            info = manifest.info(self._store.url, digest)
            left_out = () if manifest.world_size == self._world_size else own_paths(manifest)
            if left_out:
                progress.note(
                    f"{info.ref} was saved by {manifest.world_size} ranks, this job has {self._world_size}: "
                    f"each rank's own {', '.join(left_out)} is left out."
                )
            return Restored(
                step=manifest.step, state=loaded, metrics=info.metrics, ref=info.ref, left_out=left_out
            )
        finally:
            self._add(loading_s=time.monotonic() - started)

    def wait(self, *, timeout_s: float | None = None) -> CheckpointInfo | None:
        """Waits until nothing is in flight; the newest checkpoint that this process committed.

        Args:
            timeout_s: How long at most, such as what is left of a grace period; None: until the
                policy's ``timeout_s`` ends the save itself.

        Raises:
            Temporary: The save is still in flight. The process may end: what is not committed is never
                resumed from.
            GoldenPathError: The last save failed.
        """
        started = time.monotonic()
        try:
            self._settle(timeout_s)
        finally:
            self._add(saving_s=time.monotonic() - started)
        if self._failure is not None:
            raise self._failure
        return self._committed

    def close(self) -> None:
        """Waits for what is in flight, and ends the background work. A failure is told, not raised."""
        started = time.monotonic()
        try:
            self._settle()
        finally:
            self._worker.shutdown()
            self._janitor.shutdown()
            self._coordinator.close()
            self._add(saving_s=time.monotonic() - started)

    def _check_step(self, step: int) -> None:
        if self._last_step is not None and step <= self._last_step:
            raise InputError(
                f"Step {step} is saved after step {self._last_step}.",
                next_step="Steps only go on: continue from the restored step.",
            )
        if step < 0:
            raise InputError(f"The step {step} is negative.")

    def _raise_hopeless(self) -> None:
        # Once a checkpoint is there, a failing save must not end a long training: it is counted.
        failure = self._failure
        if failure is not None and self._committed is None and not isinstance(failure, Temporary):
            raise failure

    def _is_busy(self) -> bool:
        self._pending = [future for future in self._pending if not _is_over(future)]
        return bool(self._pending)

    def _settle(self, timeout_s: float | None = None) -> None:
        done, waiting = wait(self._pending, timeout=timeout_s)
        for future in done:
            future.result()
        if waiting:
            raise Temporary(f"A checkpoint of {self._run} is still in flight after {timeout_s} s.")
        self._pending.clear()

    def _submit(self, finish: Any, started: float) -> None:
        # The context carries the caller's progress reporter into the thread.
        context = copy_context()
        self._pending.append(self._worker.submit(context.run, self._finish, finish, started))

    def _finish(self, finish: Any, started: float) -> None:
        """In the background: uploads, agrees with the other ranks, and cleans up."""
        outcome: Outcome = finish()
        try:
            found = self._coordinator.agree(outcome.model_dump(by_alias=True), self._committer.decide)
        except GoldenPathError as error:
            self._fail(outcome.step, error)
            return
        if set(found) == {"error"}:
            self._fail(outcome.step, rebuilt(found["error"]))
            return
        verdict = Verdict.model_validate(found)
        if verdict.committed is not None:
            self._committed, self._failure = CheckpointInfo(**verdict.committed), None
            size = outcome.part.size if outcome.part else 0
            self._add(saved=1, durable_s=time.monotonic() - started, bytes_saved=size)
            self._prune_soon()
            return
        if verdict.removable:
            self._saver.remove(outcome)
        if verdict.skipped:
            self._add(skipped=1)
        elif verdict.error is not None:
            self._fail(outcome.step, rebuilt(verdict.error))

    def _fail(self, step: int, error: GoldenPathError) -> None:
        self._failure = error
        self._add(failed=1)
        progress.note(f"Checkpoint {self._run}:{step} was not saved: {error}")

    def _prune_soon(self) -> None:
        # One that has begun may have listed before this commit; one that waits its turn will see it.
        if self._rank == 0 and (self._pruning is None or self._pruning.running() or _is_over(self._pruning)):
            self._pruning = self._janitor.submit(copy_context().run, self._prune)

    def _prune(self) -> None:
        try:
            retention.prune(
                self._run,
                store=self._store,
                policy=self._policy,
                damaged=self._committer.damaged,
                attempt=self._attempt,
            )
        except GoldenPathError as error:
            # What was not pruned now is pruned after the next commit.
            progress.note(f"Old checkpoints of {self._run} were not pruned: {error}")

    def _add(self, **amounts: float) -> None:
        # The training loop and the background both count.
        with self._counting:
            sums = {name: getattr(self._stats, name) + amount for name, amount in amounts.items()}
            self._stats = replace(self._stats, **sums)


def _check_unused(store: Store, run: str, attempt: str) -> None:
    # Only what rank 0 writes: the other ranks may be saving already.
    for entry in store.list(keys.checkpoint_files(run, attempt)):
        if entry.key.rpartition("/")[2].startswith(("00000-", "manifest.")):
            raise InputError(
                f"The attempt {attempt} of run {run} has written checkpoints before.",
                next_step="Each start of a job, and each Checkpointer, needs an attempt's name of its own.",
            )


def _is_over(future: Future[None]) -> bool:
    if not future.done():
        return False
    future.result()
    return True


def _finite(metrics: Mapping[str, float], step: int) -> dict[str, float]:
    found = {name: float(value) for name, value in metrics.items()}
    for name, value in found.items():
        if not math.isfinite(value):
            progress.note(f"The metric {name!r} is {value} at step {step}: the checkpoint goes without it.")
    return {name: value for name, value in found.items() if math.isfinite(value)}
