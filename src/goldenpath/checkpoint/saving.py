"""One rank's part of a save: staged while training waits, uploaded when it goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from goldenpath import progress
from goldenpath.checkpoint.commit import Outcome, error_record
from goldenpath.checkpoint.manifest import Part
from goldenpath.checkpoint.staging import Buffer, Staged, stage
from goldenpath.checkpoint.upload import upload
from goldenpath.errors import GoldenPathError
from goldenpath.provenance import sha256_hex
from goldenpath.store import Store


class RankSaver:
    """Stages and uploads what one rank has; one save at a time."""

    def __init__(
        self,
        *,
        store: Store,
        run: str,
        attempt: str,
        rank: int,
        world_size: int,
        part_size: int,
        timeout_s: float,
    ) -> None:
        self._store, self._run, self._attempt = store, run, attempt
        self._rank, self._world_size = rank, world_size
        self._part_size, self._timeout_s = part_size, timeout_s
        self._buffer = Buffer()

    def stage(self, step: int, state: Any, metrics: dict[str, float]) -> Callable[[], Outcome]:
        """Copies this rank's share; the call that is returned uploads it and never raises our errors.

        Raises:
            InputError: Something cannot be stored without pickle.
        """
        started = time.monotonic()
        staged = stage(state, rank=self._rank, world_size=self._world_size, buffer=self._buffer)
        stall_s = time.monotonic() - started
        return lambda: self._upload(step, staged, metrics, stall_s)

    def failure(self, step: int, error: GoldenPathError) -> Outcome:
        """What the other ranks are told where this one failed."""
        return Outcome(step=step, error=error_record(error))

    def remove(self, outcome: Outcome) -> None:
        """Deletes what was uploaded for a save that is known to have no commit."""
        objects = outcome.part.objects if outcome.part else ()
        try:
            self._store.delete(item.key for item in objects)
        except GoldenPathError as error:
            # Retention finds it by its age.
            progress.note(f"Left behind of checkpoint {self._run}:{outcome.step}: {error}")

    def _upload(self, step: int, staged: Staged, metrics: dict[str, float], stall_s: float) -> Outcome:
        try:
            objects = upload(
                self._store,
                staged.data,
                run=self._run,
                attempt=self._attempt,
                step=step,
                rank=self._rank,
                part_size=self._part_size,
                timeout_s=self._timeout_s,
            )
        except GoldenPathError as error:
            # Other threads of the same upload may still be at work in the memory.
            self._buffer.abandon()
            return self.failure(step, error)
        return Outcome(
            step=step,
            part=Part(rank=self._rank, size=len(staged.data), objects=objects, own=staged.structure.own),
            arrays=staged.arrays,
            shared=staged.shared,
            values=_digests(staged.structure.tree),
            tree=staged.structure.tree if self._rank == 0 else None,
            metrics=metrics,
            stall_s=stall_s,
        )


def _digests(tree: Any) -> dict[str, str]:
    parts = tree if isinstance(tree, dict) else {"the state": tree}
    return {key: sha256_hex(json.dumps(part).encode()) for key, part in parts.items()}
