"""What the checkpoint library returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class CheckpointInfo:
    """One committed checkpoint."""

    ref: str
    """``<store>/checkpoints/<run>:<step>@sha256:<hex of the manifest>``."""
    step: int
    attempt: str
    size: int
    """Bytes of state, all ranks together."""
    world_size: int
    """How many ranks saved it."""
    metrics: dict[str, float]
    created_at: str
    """When it was committed: RFC 3339, UTC."""


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The state that training goes on from."""

    step: int
    state: Any
    """The saved tree. Where ``restore`` was given a state, its own arrays and tensors, filled."""
    metrics: dict[str, float]
    ref: str
    left_out: tuple[str, ...] = ()
    """Values of one rank alone that another number of ranks saved, so that nobody's place fits."""


@dataclass(frozen=True, kw_only=True)
class CheckpointStats:
    """What saving and loading cost this process so far."""

    saving_s: float = 0.0
    """Seconds that ``save``, ``wait`` and ``close`` kept the training loop from its work."""
    loading_s: float = 0.0
    """Seconds in ``restore``."""
    durable_s: float = 0.0
    """Seconds from the calls of all committed saves until they were committed."""
    saved: int = 0
    skipped: int = 0
    failed: int = 0
    bytes_saved: int = 0
    """Bytes that this rank uploaded for committed checkpoints."""
