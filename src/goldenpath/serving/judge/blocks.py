"""Blocks: the requests between two samples, which are what is judged."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from goldenpath.serving.judge.evidence import Array
from goldenpath.serving.judge.samples import Sample


@dataclass(frozen=True, slots=True)
class Blocks:
    """The requests between consecutive samples, for one metric; arrays of shape ``(blocks,)``."""

    stable_bad: Array
    stable_all: Array
    canary_bad: Array
    canary_all: Array


class BadCounters(ValueError):
    """The samples hold something that cannot be judged; the message says what."""


def blocks_of(samples: list[Sample], metric: str) -> Blocks:
    """Cuts one metric's counters into blocks.

    A counter that fell was reset: it counts from zero again. A block in which an arm's bad requests
    seem more than all (its counters are not read at one instant) is joined with the next.

    Raises:
        BadCounters: The metric is missing, NaN, infinite or negative.
    """
    rows: list[tuple[float, float, float, float]] = []
    held: tuple[float, float, float, float] | None = None
    carried = (0.0, 0.0, 0.0, 0.0)
    for sample in samples:
        now = _counters(sample, metric)
        if held is not None:
            grown = tuple(
                sum(parts)
                for parts in zip(
                    carried, (*_growth(held[:2], now[:2]), *_growth(held[2:], now[2:])), strict=True
                )
            )
            if grown[0] <= grown[1] and grown[2] <= grown[3]:
                rows.append((grown[0], grown[1], grown[2], grown[3]))
                carried = (0.0, 0.0, 0.0, 0.0)
            else:
                carried = (grown[0], grown[1], grown[2], grown[3])
        held = now
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return Blocks(table[:, 0], table[:, 1], table[:, 2], table[:, 3])


def requests_of(samples: list[Sample]) -> tuple[float, float]:
    """All requests sent to (stable, canary) between the first and the last sample."""
    totals = [0.0, 0.0]
    for before, after in itertools.pairwise(samples):
        for place, arms in enumerate(((before.stable, after.stable), (before.canary, after.canary))):
            if arms[0] is not None and arms[1] is not None:
                grown = arms[1].requests - arms[0].requests
                totals[place] += grown if grown >= 0 else arms[1].requests
    return totals[0], totals[1]


def _counters(sample: Sample, metric: str) -> tuple[float, float, float, float]:
    found: list[float] = []
    for name, arm in (("stable", sample.stable), ("canary", sample.canary)):
        if arm is None or metric not in arm.metrics:
            raise BadCounters(f"the {name} arm has no {metric!r}")
        for value in arm.metrics[metric]:
            if not math.isfinite(value) or value < 0:
                raise BadCounters(f"the {name} arm's {metric!r} holds {value}")
            found.append(value)
    return found[0], found[1], found[2], found[3]


def _growth(before: tuple[float, ...], after: tuple[float, ...]) -> tuple[float, float]:
    # Both counters live in one process: if either fell, both began anew.
    if after[0] < before[0] or after[1] < before[1]:
        return after[0], after[1]
    return after[0] - before[0], after[1] - before[1]
