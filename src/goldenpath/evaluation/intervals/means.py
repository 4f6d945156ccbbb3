"""The harm of a metric that is the mean of one number a row."""

from __future__ import annotations

import math

import numpy as np

from goldenpath.evaluation.intervals.estimate import Normal
from goldenpath.evaluation.metrics import Metric, weights_of
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import Rows


def paired_mean(metric: Metric, pairs: Pairs) -> Normal:
    """The weighted mean of paired differences, by the central limit theorem.

    With groups, their sums are the independent parts (the linearised ratio estimator of cluster
    samples; Cochran, Sampling Techniques, 1977, chapter 9).
    """
    assert metric.per_row is not None  # noqa: S101  (a mean, by the caller's choice)
    worse = metric.sign * (metric.per_row(pairs.candidate) - metric.per_row(pairs.champion))
    weights = weights_of(pairs.candidate)
    harm = float(weights @ worse / weights.sum())
    parts = weights * (worse - harm)
    group = pairs.candidate.group
    if group is not None:
        parts = np.bincount(group, parts)[np.unique(group)]
    count = len(parts)
    spread = count / (count - 1) * float(parts @ parts)
    method = "normal interval of paired means" + (" of groups" if group is not None else "")
    return Normal(harm=harm, error=math.sqrt(spread) / float(weights.sum()), method=method)


def correct_both(candidate: Rows, champion: Rows, metric: Metric) -> tuple[int, int]:
    """How many rows the candidate alone has wrong, and how many it alone has right."""
    assert metric.per_row is not None  # noqa: S101
    difference = metric.per_row(candidate) - metric.per_row(champion)
    return int((difference < 0).sum()), int((difference > 0).sum())
