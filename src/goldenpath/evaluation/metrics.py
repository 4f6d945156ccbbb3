"""The metrics that rows alone decide: a table, one entry a metric.

A metric is either the mean of one number a row (accuracy, log loss), or a function of all rows under
weights (ROC AUC, macro F1). Both are functions of a weight a row, which is how they are resampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goldenpath.errors import GoldenPathError
from goldenpath.evaluation.rows import Floats, Rows, codes_of, numbers_of

Mask = npt.NDArray[np.bool_]
Statistic = Callable[[Floats], float]
"""From weights (n,) to the metric's value; NaN where it is not defined."""

CALIBRATION_BINS = 15
_TINY = 1e-15
_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric. Exactly one of ``per_row`` and ``statistic`` is given."""

    name: str
    title: str
    higher_is_better: bool
    missing: Callable[[Rows], str]
    """Why the rows do not have this metric, or an empty string."""
    per_row: Callable[[Rows], Floats] | None = None
    statistic: Callable[[Rows], Statistic] | None = None
    after: Callable[[float], float] | None = None
    """Applied to the mean of ``per_row`` (the root, for RMSE)."""
    relative: bool = False
    """Whether margins are shares of the champion's value, for the metric has the labels' unit."""

    @property
    def sign(self) -> float:
        """1 where more is worse, else -1: times a difference, the harm."""
        return -1.0 if self.higher_is_better else 1.0

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the plain mean of one number a row."""
        return self.per_row is not None and self.after is None

    def of(self, rows: Rows) -> Statistic:
        """The metric of these rows as a function of weights."""
        if self.statistic is not None:
            return self.statistic(rows)
        values, after = self.each(rows), self.after

        def mean(weights: Floats) -> float:
            found = float(weights @ values / weights.sum())
            return after(found) if after else found

        return mean

    def each(self, rows: Rows) -> Floats:
        """The number of each row, of a metric that is made of such."""
        if self.per_row is None:
            raise GoldenPathError(f"{self.title} is not made of one number a row.")
        return self.per_row(rows)

    def value(self, rows: Rows) -> float:
        """The metric of these rows with their own weights."""
        return self.of(rows)(weights_of(rows))


def weights_of(rows: Rows) -> Floats:
    """Each row's weight; 1 where there are none."""
    return np.ones(rows.n) if rows.weight is None else rows.weight


def default_metric(rows: Rows) -> str:
    """What a policy without a metric asks for: accuracy of classes, the mean absolute error of numbers."""
    return "accuracy" if rows.classes else "mae"


def computable(rows: Rows) -> dict[str, Metric]:
    """The metrics that these rows have, by name."""
    return {name: metric for name, metric in METRICS.items() if not metric.missing(rows)}


def confidence(rows: Rows) -> Floats:
    """The probability (n, classes) of each class; from one score of two classes, both."""
    if rows.scores.ndim == 2:
        return rows.scores
    return np.column_stack([1 - rows.scores, rows.scores])


def positive_score(rows: Rows) -> Floats:
    """The score (n,) of the positive class of two."""
    return rows.scores if rows.scores.ndim == 1 else rows.scores[:, 1]


def is_positive(rows: Rows) -> Mask:
    """Whether each row's label is the positive class of two."""
    return np.equal(codes_of(rows.label), 1, dtype=np.bool_)


def _no_classes(rows: Rows) -> str:
    return "" if rows.classes else "the labels are floating-point numbers, not classes"


def _no_numbers(rows: Rows) -> str:
    return "the labels are classes; floating-point labels are numbers" if rows.classes else ""


def _not_two_classes(rows: Rows) -> str:
    if _no_classes(rows):
        return _no_classes(rows)
    if rows.score is None:
        return "the rows have no column 'score'"
    if len(rows.classes) != 2:
        return f"it needs two classes, and the rows have {len(rows.classes)}"
    seen = np.unique(codes_of(rows.label))
    return "" if len(seen) == 2 else f"every label is {rows.classes[seen[0]]!r}"


def _no_probabilities(rows: Rows) -> str:
    if _no_classes(rows):
        return _no_classes(rows)
    if rows.score is None:
        return "the rows have no column 'score'"
    if rows.score.ndim == 1 and len(rows.classes) != 2:
        return f"one score a row needs two classes, and the rows have {len(rows.classes)}"
    if rows.score.min() < 0 or rows.score.max() > 1:
        return f"scores are outside 0..1 (from {rows.score.min():.4g} to {rows.score.max():.4g})"
    if rows.score.ndim == 2 and np.abs(rows.score.sum(axis=1) - 1).max() > _SUM_TOLERANCE:
        return "the scores of a row do not sum to 1"
    return ""


def _right(rows: Rows) -> Floats:
    return np.equal(codes_of(rows.label), codes_of(rows.prediction)).astype(np.float64)


def _log_loss(rows: Rows) -> Floats:
    chosen = confidence(rows)[np.arange(rows.n), codes_of(rows.label)]
    return -np.log(np.clip(chosen, _TINY, 1.0))


def _brier(rows: Rows) -> Floats:
    """Brier's original score over all classes (1950), between 0 and 2."""
    spread = confidence(rows).copy()
    spread[np.arange(rows.n), codes_of(rows.label)] -= 1
    squares: Floats = np.square(spread).sum(axis=1)
    return squares


def _absolute_error(rows: Rows) -> Floats:
    return np.abs(numbers_of(rows.prediction) - numbers_of(rows.label))


def _squared_error(rows: Rows) -> Floats:
    return np.square(numbers_of(rows.prediction) - numbers_of(rows.label))


def _r2(rows: Rows) -> Statistic:
    errors, label = _squared_error(rows), numbers_of(rows.label)
    label = label - label.mean()  # the squares below lose digits far from 0

    def value(weights: Floats) -> float:
        total = weights.sum()
        spread = weights @ np.square(label) - (weights @ label) ** 2 / total
        return float(1 - weights @ errors / spread) if spread > 0 else np.nan

    return value


def _macro_f1(rows: Rows) -> Statistic:
    """The mean of each class's F1, over the classes that are a label or a prediction of some row."""
    label, prediction, k = codes_of(rows.label), codes_of(rows.prediction), len(rows.classes)
    right = label == prediction

    def value(weights: Floats) -> float:
        hits = np.bincount(label, weights * right, minlength=k)
        seen = np.bincount(label, weights, minlength=k) + np.bincount(prediction, weights, minlength=k)
        return float(np.mean(2 * hits[seen > 0] / seen[seen > 0]))

    return value


def _ranked(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order by falling score, whether each is positive, and the last position of each tie."""
    score = positive_score(rows)
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    return order, is_positive(rows)[order], ends


def _roc_auc(rows: Rows) -> Statistic:
    """The area under the curve of true over false positive rates, by trapezoids over tied scores."""
    order, positive, ends = _ranked(rows)

    def value(weights: Floats) -> float:
        ranked = weights[order]
        hits = np.cumsum(ranked * positive)[ends]
        misses = np.cumsum(ranked * ~positive)[ends]
        if hits[-1] == 0 or misses[-1] == 0:
            return np.nan
        # By hand: numpy's own trapezoid has another name in numpy 1 and 2.
        steps = np.diff(misses, prepend=0)
        heights = hits - np.diff(hits, prepend=0) / 2
        return float(steps @ heights / hits[-1] / misses[-1])

    return value


def _average_precision(rows: Rows) -> Statistic:
    """The sum of precisions weighted by the steps of recall, without interpolation."""
    order, positive, ends = _ranked(rows)

    def value(weights: Floats) -> float:
        ranked = weights[order]
        hits = np.cumsum(ranked * positive)[ends]
        all_ = np.cumsum(ranked)[ends]
        if hits[-1] == 0:
            return np.nan
        precision = np.divide(hits, all_, out=np.zeros_like(hits), where=all_ > 0)
        return float(np.diff(hits, prepend=0) @ precision / hits[-1])

    return value


def calibration_bins(rows: Rows) -> tuple[np.ndarray, Floats, Floats]:
    """For each row the bin of its top probability, that probability, and whether its class is right."""
    probability = confidence(rows)
    top = probability.argmax(axis=1)
    best = probability[np.arange(rows.n), top]
    bins = np.minimum((best * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    return bins, best, (top == codes_of(rows.label)).astype(np.float64)


def _calibration_error(rows: Rows) -> Statistic:
    """The expected calibration error of the top class, 15 bins of equal width (Guo et al., 2017)."""
    bins, best, right = calibration_bins(rows)
    gap = best - right

    def value(weights: Floats) -> float:
        gaps = np.bincount(bins, weights * gap, minlength=CALIBRATION_BINS)
        return float(np.abs(gaps).sum() / weights.sum())

    return value


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="accuracy", title="Accuracy", higher_is_better=True, missing=_no_classes, per_row=_right),
        Metric(
            name="macro_f1", title="Macro F1", higher_is_better=True, missing=_no_classes, statistic=_macro_f1
        ),
        Metric(
            name="roc_auc",
            title="ROC AUC",
            higher_is_better=True,
            missing=_not_two_classes,
            statistic=_roc_auc,
        ),
        Metric(
            name="average_precision",
            title="Average precision",
            higher_is_better=True,
            missing=_not_two_classes,
            statistic=_average_precision,
        ),
        Metric(
            name="log_loss",
            title="Log loss",
            higher_is_better=False,
            missing=_no_probabilities,
            per_row=_log_loss,
        ),
        Metric(
            name="brier",
            title="Brier score",
            higher_is_better=False,
            missing=_no_probabilities,
            per_row=_brier,
        ),
        Metric(
            name="calibration_error",
            title="Expected calibration error",
            higher_is_better=False,
            missing=_no_probabilities,
            statistic=_calibration_error,
        ),
        Metric(
            name="mae",
            title="Mean absolute error",
            higher_is_better=False,
            missing=_no_numbers,
            per_row=_absolute_error,
            relative=True,
        ),
        Metric(
            name="rmse",
            title="Root mean squared error",
            higher_is_better=False,
            missing=_no_numbers,
            per_row=_squared_error,
            after=math.sqrt,
            relative=True,
        ),
        Metric(name="r2", title="R²", higher_is_better=True, missing=_no_numbers, statistic=_r2),
    )
}
"""Every metric that can be computed from rows, in the order of reports."""
