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
    worse = metric.sign * (metric.each(pairs.candidate) - metric.each(pairs.champion))
    weights = weights_of(pairs.candidate)
    harm = float(weights @ worse / weights.sum())
    parts = weights * (worse - harm)
    group = pairs.candidate.group
    if group is not None:
        parts = np.bincount(group, weights=parts)[np.unique(group)].astype(np.float64)
    count = len(parts)
    spread = count / (count - 1) * float(parts @ parts)
    method = "normal interval of paired means" + (" of groups" if group is not None else "")
    return Normal(harm=harm, error=math.sqrt(spread) / float(weights.sum()), method=method)


def correct_both(candidate: Rows, champion: Rows, metric: Metric) -> tuple[int, int]:
    """How many rows the candidate alone has wrong, and how many it alone has right."""
    difference = metric.each(candidate) - metric.each(champion)
    return int((difference < 0).sum()), int((difference > 0).sum())
