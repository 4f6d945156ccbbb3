"""The checkpointer of a training loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldenpath.checkpoint.coordinator import Coordinator
from goldenpath.checkpoint.info import CheckpointInfo, CheckpointStats, Restored
from goldenpath.checkpoint.policy import CheckpointPolicy
from goldenpath.store import Store


class Checkpointer:
    """Saves and restores the state of one run; one for each process of the job."""

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
    ) -> None:
        raise NotImplementedError

    def due(self, step: int) -> bool:
        """Whether the policy wants a save at this step; the same answer on every rank."""
        raise NotImplementedError

    def save(self, step: int, state: Any, *, metrics: Mapping[str, float] | None = None) -> bool:
        """Copies the state, and uploads it in the background; False if the step was skipped."""
        raise NotImplementedError

    def restore(self, state: Any = None) -> Restored | None:
        """Loads the newest valid checkpoint of the run, or returns None where it has none yet."""
        raise NotImplementedError

    def wait(self) -> CheckpointInfo | None:
        """Waits until nothing is in flight; the newest checkpoint that this process committed."""
        raise NotImplementedError

    def close(self) -> None:
        """Waits as ``wait`` does, and ends the background work."""
        raise NotImplementedError

    @property
    def stats(self) -> CheckpointStats:
        """What saving and loading cost so far."""
        raise NotImplementedError
