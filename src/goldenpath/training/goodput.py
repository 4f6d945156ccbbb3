"""Goodput: which part of the time was training that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from goldenpath.jobs import StartRecord


@dataclass(frozen=True, kw_only=True)
class Goodput:
    """Where a job's time went, in seconds, all starts together."""

    productive_s: float
    """Training whose result was kept."""
    saving_s: float
    """The loop stood still for a checkpoint."""
    loading_s: float
    """The loop stood still to restore one."""
    lost_s: float
    """Training after the last checkpoint of a start that failed: it was done again, or is missing."""
    waiting_s: float
    """In the queue, starting up and fetching data."""

    @property
    def running_s(self) -> float:
        """All time but the waiting."""
        return self.productive_s + self.saving_s + self.loading_s + self.lost_s

    @property
    def share(self) -> float:
        """The productive part of all time, 0 to 1; 0 where no time passed."""
        total = self.running_s + self.waiting_s
        return self.productive_s / total if total else 0.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What rank 0 measured of one start. ``entered_at`` in seconds since the epoch."""

    entered_at: float
    fetching_s: float
    saving_s: float
    loading_s: float


def goodput(
    starts: Sequence[StartRecord],
    measured: Mapping[str, Measured],
    saved_at: Mapping[str, float],
    *,
    queued_s: float,
) -> Goodput:
    """Adds up the starts of a job that succeeded with its last one.

    The five parts make up ``queued_s`` and the running time of all starts. A start that was killed
    before it could tell has no measurements: its time until its last checkpoint counts as productive.

    Args:
        starts: The starts, the oldest first.
        measured: What each attempt told.
        saved_at: When each attempt committed its last checkpoint, in seconds since the epoch.
        queued_s: Seconds in the queue.
    """
    productive = saving = loading = lost = 0.0
    waiting = queued_s
    for number, start in enumerate(starts, start=1):
        rest = start.finished_at - start.started_at
        told = measured.get(start.attempt)
        waited = saved = loaded = 0.0
        if told is not None:
            waited = max(told.entered_at - start.started_at, 0.0) + told.fetching_s
            saved, loaded = told.saving_s, told.loading_s
        wasted = 0.0
        if number < len(starts):
            wasted = start.finished_at - max(saved_at.get(start.attempt, 0.0), start.started_at + waited)
        overhead = waited + saved + loaded
        wasted = min(max(wasted, 0.0), max(rest - overhead, 0.0))
        productive += max(rest - overhead - wasted, 0.0)
        saving, loading = saving + saved, loading + loaded
        waiting, lost = waiting + waited, lost + wasted
    return Goodput(
        productive_s=productive, saving_s=saving, loading_s=loading, lost_s=lost, waiting_s=waiting
    )
