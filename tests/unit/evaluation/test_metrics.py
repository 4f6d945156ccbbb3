"""Every metric against scikit-learn, with and without weights; and why one is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk

from goldenpath.evaluation.metrics import METRICS, computable
from goldenpath.evaluation.rows import Rows, from_table

N = 400
RNG = np.random.default_rng(3)
LABEL = RNG.integers(0, 2, N)
SCORE = np.round(np.clip(LABEL * 0.3 + RNG.random(N) * 0.7, 0, 1), 2)  # rounded, so that scores tie
SCORES = RNG.dirichlet([1, 1, 1], N)
MANY = RNG.integers(0, 3, N)
NUMBER = RNG.normal(size=N) * 10 + 1000
GUESS = NUMBER + RNG.normal(size=N)
WEIGHT = RNG.random(N) + 0.1


def rows(label: Any, prediction: Any, score: Any = None, weight: Any = None) -> Rows:
    found = {"id": np.arange(len(label)), "label": label, "prediction": prediction}
    if score is not None:
        found["score"] = list(score) if np.ndim(score) == 2 else score
    if weight is not None:
        found["weight"] = weight
    return from_table(pa.table(found), where="rows")


BINARY = (LABEL, (SCORE > 0.5).astype(int), SCORE)
MULTI = (MANY, SCORES.argmax(axis=1), SCORES)
REAL = (NUMBER, GUESS, None)
CASES: list[tuple[str, tuple[Any, Any, Any], Callable[..., float]]] = [
    ("accuracy", BINARY, lambda y, p, s, w: sk.accuracy_score(y, p, sample_weight=w)),
    ("accuracy", MULTI, lambda y, p, s, w: sk.accuracy_score(y, p, sample_weight=w)),
    ("macro_f1", MULTI, lambda y, p, s, w: sk.f1_score(y, p, average="macro", sample_weight=w)),
    ("roc_auc", BINARY, lambda y, p, s, w: sk.roc_auc_score(y, s, sample_weight=w)),
    ("average_precision", BINARY, lambda y, p, s, w: sk.average_precision_score(y, s, sample_weight=w)),
    ("log_loss", MULTI, lambda y, p, s, w: sk.log_loss(y, s, sample_weight=w)),
    ("brier", MULTI, lambda y, p, s, w: np.average(np.square(s - np.eye(3)[y]).sum(axis=1), weights=w)),
    ("mae", REAL, lambda y, p, s, w: sk.mean_absolute_error(y, p, sample_weight=w)),
    ("rmse", REAL, lambda y, p, s, w: sk.root_mean_squared_error(y, p, sample_weight=w)),
    ("r2", REAL, lambda y, p, s, w: sk.r2_score(y, p, sample_weight=w)),
]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(("name", "data", "reference"), CASES, ids=[case[0] for case in CASES])
def test_a_metric_is_scikit_learns(
    name: str, data: tuple[Any, Any, Any], reference: Callable[..., float], weight: Any
) -> None:
    found = METRICS[name].value(rows(*data, weight=weight))
    assert found == pytest.approx(reference(*data, weight), rel=1e-9)


def test_calibration_error_of_two_bins_by_hand() -> None:
    # 0.95 said, 3 of 4 right; 0.55 said, 1 of 2 right: (4 * |0.95 - 0.75| + 2 * |0.55 - 0.5|) / 6
    score = [0.95, 0.95, 0.95, 0.95, 0.55, 0.55]
    found = rows([1, 1, 1, 0, 1, 0], [1] * 6, score)
    assert METRICS["calibration_error"].value(found) == pytest.approx((4 * 0.2 + 2 * 0.05) / 6)


def test_macro_f1_leaves_out_classes_that_no_row_has() -> None:
    found = rows([0, 2, 0, 2], [0, 2, 2, 2], [[0.7, 0.1, 0.2]] * 4)
    assert METRICS["macro_f1"].value(found) == pytest.approx(
        sk.f1_score([0, 2, 0, 2], [0, 2, 2, 2], average="macro")
    )


@pytest.mark.parametrize(
    ("name", "found", "reason"),
    [
        ("accuracy", rows(NUMBER, GUESS), "floating-point"),
        ("mae", rows(*BINARY), "labels are classes"),
        ("roc_auc", rows(*BINARY[:2]), "no column 'score'"),
        ("roc_auc", rows(*MULTI), "needs two classes, and the rows have 3"),
        ("roc_auc", rows([1, 1], [0, 1], [0.2, 0.9]), "every label is 1"),
        ("log_loss", rows([0, 1], [0, 1], [-2.0, 3.0]), "outside 0..1"),
        ("log_loss", rows([0, 1], [0, 1], [[0.5, 0.4], [0.1, 0.9]]), "do not sum to 1"),
        ("brier", rows([1, 1], [1, 1], [0.2, 0.9]), "needs two classes, and the rows have 1"),
        ("calibration_error", rows(NUMBER, GUESS), "floating-point"),
    ],
)
def test_a_missing_metric_says_why(name: str, found: Rows, reason: str) -> None:
    assert reason in METRICS[name].missing(found)
    assert name not in computable(found)
