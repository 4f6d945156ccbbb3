"""The commit: every rank's outcome becomes one verdict, and at best one create-only manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldenpath import progress
from goldenpath.checkpoint import catalogue
from goldenpath.checkpoint.layout import merged
from goldenpath.checkpoint.manifest import Array, Manifest, Part, array_fault, digest_of_bytes
from goldenpath.errors import BY_NAME, GoldenPathError, InputError, Temporary
from goldenpath.refs import Kind
from goldenpath.store import Store, keys


class Outcome(BaseModel):
    """What one rank made of one save."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: int
    skipped: bool = False
    error: dict[str, str] | None = None
    """``{"type", "message"}`` where the rank failed."""
    part: Part | None = None
    arrays: dict[str, Array] = {}
    shared: str = ""
    """Equal on all ranks, if they hold the same arrays."""
    values: dict[str, str] = {}
    """For each top-level key: a digest over its scalars and structure."""
    tree: Any = None
    """The structure; rank 0's alone is kept."""
    metrics: dict[str, float] = {}
    stall_s: float = 0.0


class Verdict(BaseModel):
    """What became of one save; the same on every rank."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    committed: dict[str, Any] | None = None
    """The checkpoint, as ``CheckpointInfo``."""
    skipped: bool = False
    error: dict[str, str] | None = None
    removable: bool = False
    """Whether it is certain that no manifest names what was uploaded."""


def error_record(error: GoldenPathError) -> dict[str, str]:
    """An error as it travels between ranks."""
    return {"type": type(error).__name__, "message": str(error)}


def rebuilt(record: Mapping[str, str], prefix: str = "") -> GoldenPathError:
    """The error that another rank told of."""
    return BY_NAME.get(record["type"], GoldenPathError)(prefix + record["message"])


class Committer:
    """Rank 0's part of every save of one attempt."""

    def __init__(self, *, store: Store, run: str, attempt: str, part_size: int) -> None:
        self._store, self._run, self._attempt = store, run, attempt
        self._part_size = part_size
        self.damaged: frozenset[int] = frozenset()
        """Steps whose checkpoints were found damaged: they may be written again."""

    def decide(self, values: list[Any]) -> Any:
        """The verdict over the outcomes of all ranks, as JSON data."""
        outcomes = [Outcome.model_validate(value) for value in values]
        try:
            manifest, skipped = self._plan(outcomes)
        except GoldenPathError as error:
            return Verdict(error=error_record(error), removable=True).model_dump()
        if skipped or manifest is None:
            return Verdict(skipped=True, removable=True).model_dump()
        try:
            self._check_order(manifest)
        except GoldenPathError as error:
            return Verdict(error=error_record(error), removable=True).model_dump()
        try:
            digest = self._commit(manifest)
        except GoldenPathError as error:
            # A lost reply may hide a commit: what was uploaded stays.
            return Verdict(error=error_record(error)).model_dump()
        return Verdict(committed=asdict(manifest.info(self._store.url, digest))).model_dump()

    def _plan(self, outcomes: list[Outcome]) -> tuple[Manifest | None, bool]:
        first = outcomes[0]
        for rank, outcome in enumerate(outcomes):
            if outcome.error is not None:
                raise rebuilt(outcome.error, f"Rank {rank} failed: ")
            if outcome.step != first.step:
                raise InputError(f"Rank 0 saves step {first.step}, rank {rank} step {outcome.step}.")
        if any(outcome.skipped for outcome in outcomes):
            return None, True
        for rank, outcome in enumerate(outcomes):
            if outcome.shared != first.shared:
                raise InputError(
                    f"Rank {rank} has other arrays than rank 0 at step {first.step}.",
                    next_step="Mark what each rank has of its own with PerRank.",
                )
            differing = [key for key in first.values if outcome.values.get(key) != first.values[key]]
            if differing:
                progress.note(
                    f"Checkpoint {self._run}:{first.step}: rank {rank} has other values than rank 0 in "
                    f"{', '.join(differing[:3])}; rank 0's are kept. Mark what each rank has of its own "
                    "with PerRank."
                )
        arrays = merged(outcome.arrays for outcome in outcomes)
        for name, array in arrays.items():
            if fault := array_fault(name, array):
                raise InputError(f"The ranks did not save all of the state: {fault}.")
        return self._manifest(outcomes, arrays), False

    def _manifest(self, outcomes: list[Outcome], arrays: dict[str, Array]) -> Manifest:
        return Manifest(
            run=self._run,
            step=outcomes[0].step,
            attempt=self._attempt,
            world_size=len(outcomes),
            created_at=datetime.now(UTC).isoformat(),
            metrics=outcomes[0].metrics,
            stall_s=max(outcome.stall_s for outcome in outcomes),
            part_size=self._part_size,
            tree=outcomes[0].tree,
            arrays=arrays,
            parts=tuple(outcome.part for outcome in outcomes if outcome.part is not None),
        )

    def _check_order(self, manifest: Manifest) -> None:
        """Refuses to commit behind what another attempt has committed: that one is newer, or not seen."""
        newer = [
            step
            for step in catalogue.steps(self._run, store=self._store)
            if step >= manifest.step and step not in self.damaged
        ]
        if newer:
            raise InputError(
                f"Run {self._run} has a checkpoint at step {max(newer)} already, and this attempt "
                f"({self._attempt}) wants to save step {manifest.step}.",
                next_step="Another attempt went on, or this one did not restore() first. "
                "Restore, or give the training a new run.",
            )

    def _commit(self, manifest: Manifest) -> str:
        data = manifest.to_bytes()
        key = keys.ref(Kind.CHECKPOINTS, self._run, manifest.step)
        # The copy first: all data is there now, and should the commit get lost, resume finds this.
        self._store.put(keys.checkpoint_complete(self._run, self._attempt, manifest.step), data)
        if manifest.step in self.damaged:
            progress.note(f"Checkpoint {self._run}:{manifest.step} was damaged and is written again.")
            self._store.delete(key)
            self.damaged -= {manifest.step}
        if not self._create(key, data):
            raise InputError(
                f"Another attempt committed {self._run}:{manifest.step} meanwhile.",
                next_step="Only one attempt of a run may train at a time.",
            )
        return digest_of_bytes(data)

    def _create(self, key: str, data: bytes) -> bool:
        try:
            return self._store.create(key, data) or self._store.get(key) == data
        except Temporary:
            if self._store.get_or_none(key) == data:
                return True
            raise
