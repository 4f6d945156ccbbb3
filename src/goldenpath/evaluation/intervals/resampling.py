"""The harm of any metric: by a paired bootstrap, or by a jackknife where there are many rows."""

from __future__ import annotations

import math

import numpy as np

from goldenpath.evaluation.intervals.estimate import Normal, Replicates
from goldenpath.evaluation.metrics import Metric, weights_of
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import Floats

REPLICATES = 2000
PARTS = 100
BOOTSTRAP_UP_TO = 20_000
"""Above so many independent rows, 2,000 samples cost more than they tell."""
_SEED = 20231
_MOST_UNDEFINED = 0.01


def resampled(metric: Metric, pairs: Pairs) -> Normal | Replicates | str:
    """The harm with bounds, or why there are none. The same pairs give the same answer."""
    harm = _Harm(metric, pairs)
    group = pairs.candidate.group
    unit = np.arange(pairs.n) if group is None else np.unique(group, return_inverse=True)[1]
    units = int(unit.max()) + 1
    weights = weights_of(pairs.candidate)
    rng = np.random.default_rng(_SEED)
    of = "" if group is None else " of groups"
    if units > BOOTSTRAP_UP_TO:
        return _jackknife(harm, weights, unit, units, rng, of)
    values = np.empty(REPLICATES)
    for number in range(REPLICATES):
        drawn = np.bincount(rng.integers(0, units, units), minlength=units)
        values[number] = harm(weights * drawn[unit])
    defined = values[np.isfinite(values)]
    if len(defined) < (1 - _MOST_UNDEFINED) * REPLICATES:
        return f"{metric.title} is not defined on {REPLICATES - len(defined)} of {REPLICATES} resamples."
    return Replicates(
        harm=harm(weights), values=defined, method=f"paired bootstrap{of}, {REPLICATES} percentiles"
    )


class _Harm:
    """The harm as a function of weights; what does not depend on them is prepared once."""

    def __init__(self, metric: Metric, pairs: Pairs) -> None:
        self.sign = metric.sign
        self.candidate, self.champion = metric.of(pairs.candidate), metric.of(pairs.champion)

    def __call__(self, weights: Floats) -> float:
        return self.sign * (self.candidate(weights) - self.champion(weights))


def _jackknife(
    harm: _Harm, weights: Floats, unit: np.ndarray, units: int, rng: np.random.Generator, of: str
) -> Normal | str:
    """Leaves out one of 100 random parts at a time (the delete-a-group jackknife; Kott, 2001)."""
    part = rng.permutation(units)[unit] % PARTS
    left_out = np.array([harm(np.where(part == number, 0.0, weights)) for number in range(PARTS)])
    if not np.isfinite(left_out).all():
        return "The metric is not defined where one of 100 parts of the rows is left out."
    spread = (PARTS - 1) / PARTS * float(np.square(left_out - left_out.mean()).sum())
    return Normal(
        harm=harm(weights), error=math.sqrt(spread), method=f"jackknife{of}, {PARTS} parts left out in turn"
    )
