"""What evaluators may return, and how each fault is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from goldenpath.errors import InputError
from goldenpath.evaluation.answer import checked

ROWS = [{"id": n, "label": n % 2, "prediction": n % 2} for n in range(4)]


def test_metrics_alone_or_with_rows() -> None:
    assert checked({"accuracy": np.float32(0.5), "n": 3}, evaluator="m:f").metrics == {
        "accuracy": 0.5,
        "n": 3.0,
    }
    found = checked(({"accuracy": 1.0}, pd.DataFrame(ROWS)), evaluator="m:f")
    assert found.rows is not None
    assert found.rows.n == 4


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "NoneType as its metrics"),
        (0.9, "float as its metrics"),
        ({}, "no metrics"),
        (({"a": 1.0}, ROWS, ROWS), "tuple of 3 values"),
        ((ROWS, {"a": 1.0}), "list as its metrics"),
        ({"loss": float("nan")}, "returned nan for the metric 'loss'"),
        ({"loss": np.inf}, "returned inf for the metric 'loss'"),
        ({"loss": "0.9"}, "'0.9' for the metric 'loss'"),
        ({"good": True}, "True for the metric 'good'"),
        ({1: 0.5}, "the metric 1"),
        (({"a": 1.0}, "rows"), "the rows are str"),
        (({"a": 1.0}, []), "empty list"),
        (({"a": 1.0}, [{"id": 1, "label": 1}]), "no column 'prediction'"),
        (({"accuracy": 0.75}, ROWS), "returned accuracy 0.75, but its rows say 1"),
    ],
)
def test_a_fault_is_told_with_the_evaluators_name(returned: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        checked(returned, evaluator="my.module:score")
    assert "my.module:score" in str(raised.value)
