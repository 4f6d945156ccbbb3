"""DeLong's interval for the difference of two ROC AUCs on the same rows."""

from __future__ import annotations

import math

import numpy as np

from goldenpath.evaluation.intervals.estimate import Normal
from goldenpath.evaluation.metrics import is_positive, positive_score
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import Floats


def delong(pairs: Pairs) -> Normal:
    """The paired difference of ROC AUCs (DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988).

    A positive row's placement is the share of negative rows that it is scored over, ties by half; the
    AUC is the mean placement, and the differences of placements give the variance. O(n log n).
    """
    positive = is_positive(pairs.candidate)
    mine = _placements(positive_score(pairs.candidate), positive)
    other = _placements(positive_score(pairs.champion), positive)
    by_positive, by_negative = other[0] - mine[0], other[1] - mine[1]
    variance = by_positive.var(ddof=1) / len(by_positive) + by_negative.var(ddof=1) / len(by_negative)
    return Normal(harm=float(by_positive.mean()), error=math.sqrt(float(variance)), method="DeLong (1988)")


def _placements(score: Floats, positive: np.ndarray) -> tuple[Floats, Floats]:
    """Each positive row's placement among the negative ones, and the other way round."""
    above, below = np.sort(score[positive]), np.sort(score[~positive])
    # By sorted scores the searches walk through memory in order; the rows' order is put back after.
    return _share_below(score[positive], below), 1 - _share_below(score[~positive], above)


def _share_below(values: Floats, ordered: Floats) -> Floats:
    order = np.argsort(values)
    sorted_values = values[order]
    left = np.searchsorted(ordered, sorted_values, side="left")
    right = np.searchsorted(ordered, sorted_values, side="right")
    share = np.empty(len(values))
    share[order] = (left + right) / (2 * len(ordered))
    return share
