"""Which method measures which metric."""

from __future__ import annotations

import numpy as np

from goldenpath.evaluation.intervals.delong import delong
from goldenpath.evaluation.intervals.estimate import Estimate, PairedProportions
from goldenpath.evaluation.intervals.means import correct_both, paired_mean
from goldenpath.evaluation.intervals.resampling import resampled
from goldenpath.evaluation.metrics import Metric, is_positive
from goldenpath.evaluation.pairs import Pairs

LEAST_OF_A_CLASS = 10
"""Fewer rows of either class say nothing of how well the classes are told apart."""


def estimate(metric: Metric, pairs: Pairs) -> Estimate | str:
    """The harm of a candidate in a metric, or a sentence on why it cannot be measured.

    - Accuracy: McNemar's discordant pairs, with score and exact interval.
    - ROC AUC: DeLong.
    - Both with groups or weights, and every other mean: the normal interval of paired means, or the
      bootstrap where the metric is no mean.
    - All else: a paired bootstrap; a jackknife above 20,000 independent rows.
    """
    for whose, rows in (("candidate", pairs.candidate), ("champion", pairs.champion)):
        reason = metric.missing(rows)
        if reason:
            return f"{metric.title} cannot be computed from the {whose}'s rows: {reason}."
    simple = pairs.candidate.group is None and pairs.candidate.weight is None
    if metric.name == "accuracy" and simple:
        worse, better = correct_both(pairs.candidate, pairs.champion, metric)
        return PairedProportions(n=pairs.n, worse=worse, better=better)
    found: Estimate | str
    if metric.name == "roc_auc":
        fewest = int(min(is_positive(pairs.candidate).sum(), (~is_positive(pairs.candidate)).sum()))
        if fewest < LEAST_OF_A_CLASS:
            return f"{metric.title} needs {LEAST_OF_A_CLASS} rows of each class; one class has {fewest}."
        found = delong(pairs) if simple else resampled(metric, pairs)
    else:
        found = paired_mean(metric, pairs) if metric.is_mean else resampled(metric, pairs)
    if isinstance(found, str):
        return found
    return _unseen(metric, pairs) if _without_spread(found) else found


def independent(pairs: Pairs) -> int:
    """The number of independent parts: groups, else rows."""
    group = pairs.candidate.group
    return pairs.n if group is None else len(np.unique(group))


def _without_spread(found: Estimate) -> bool:
    return found.harm == found.lower(0.001) == found.upper(0.001) == 0


def _unseen(metric: Metric, pairs: Pairs) -> PairedProportions:
    """No row differs. A sample can still miss what is rarer than about three in its size.

    So an absent difference is as uncertain as the accuracy of two models that never disagree.
    """
    count = independent(pairs)
    if metric.name in ("roc_auc", "average_precision"):
        count = int(min(is_positive(pairs.candidate).sum(), (~is_positive(pairs.candidate)).sum()))
    scale = metric.value(pairs.champion) if metric.relative else 1.0
    return PairedProportions(
        n=count, worse=0, better=0, scale=max(scale, np.finfo(float).tiny), method="no row differs"
    )
