"""The points of the report's curves, thinned so that a million rows draw as quickly as a thousand."""

from __future__ import annotations

import numpy as np

from goldenpath.evaluation.metrics import CALIBRATION_BINS, calibration_bins
from goldenpath.evaluation.rows import Floats, Rows

MOST_POINTS = 400


def roc(score: Floats, positive: np.ndarray) -> tuple[Floats, Floats]:
    """False and true positive rates at falling thresholds, from (0, 0) to (1, 1)."""
    hits, misses = _cumulated(score, positive)
    return _thinned(np.append(0, misses / misses[-1]), np.append(0, hits / hits[-1]))


def precision_recall(score: Floats, positive: np.ndarray) -> tuple[Floats, Floats]:
    """Recall and precision at falling thresholds."""
    hits, misses = _cumulated(score, positive)
    return _thinned(hits / hits[-1], hits / (hits + misses))


def reliability(rows: Rows) -> tuple[Floats, Floats, Floats]:
    """For each bin that has rows: its mean probability, its share of right answers, its rows."""
    bins, best, right = calibration_bins(rows)
    counts = np.bincount(bins, minlength=CALIBRATION_BINS)
    there = counts > 0
    said = np.bincount(bins, best, minlength=CALIBRATION_BINS)[there] / counts[there]
    seen = np.bincount(bins, right, minlength=CALIBRATION_BINS)[there] / counts[there]
    return said, seen, counts[there].astype(np.float64)


def _cumulated(score: Floats, positive: np.ndarray) -> tuple[Floats, Floats]:
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    hits = np.cumsum(positive[order], dtype=np.float64)[ends]
    return hits, ends + 1 - hits


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """At most 400 points, evenly along the curve's own length, which keeps its steep parts."""
    if len(x) <= MOST_POINTS:
        return x, y
    length = np.append(0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
    wanted = np.linspace(0, length[-1], MOST_POINTS)
    picked = np.unique(np.append(np.searchsorted(length, wanted), len(x) - 1).clip(max=len(x) - 1))
    return x[picked], y[picked]
