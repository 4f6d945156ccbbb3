"""What an evaluator returned: checked before anything of it is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from goldenpath.errors import InputError
from goldenpath.evaluation.metrics import METRICS
from goldenpath.evaluation.parquet import as_table
from goldenpath.evaluation.rows import Rows, from_table

_ONE_DEFINITION = ("accuracy", "mae", "rmse")
"""Metrics of which there is no second definition: what is said must be what the rows say."""
_RETURNS = "It returns a dict of metrics, or a tuple of that and the rows."


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Metrics, and the rows both as a table and as arrays."""

    metrics: dict[str, float]
    table: Any = None
    """A pyarrow table, or None."""
    rows: Rows | None = None


def checked(returned: Any, *, evaluator: str) -> Answer:
    """Checks what an evaluator returned.

    Raises:
        InputError: It is no metrics, or metrics and rows; a metric is no finite number; a row is
            malformed; or a metric is not what the rows say.
    """
    metrics, rows = returned, None
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise InputError(f"{evaluator} returned a tuple of {len(returned)} values.", next_step=_RETURNS)
        metrics, rows = returned
    if not isinstance(metrics, Mapping) or not metrics:
        what = "no metrics" if isinstance(metrics, Mapping) else f"{type(metrics).__name__} as its metrics"
        raise InputError(f"{evaluator} returned {what}.", next_step=_RETURNS)
    found = {_name(name, evaluator): _number(name, value, evaluator) for name, value in metrics.items()}
    if rows is None:
        return Answer(metrics=found)
    table = as_table(rows, where=evaluator)
    arrays = from_table(table, where=f"{evaluator}, rows")
    _check_said(found, arrays, evaluator)
    return Answer(metrics=found, table=table, rows=arrays)


def _name(name: Any, evaluator: str) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"{evaluator} returned the metric {name!r}.", next_step="A metric's name is a text.")
    return name


def _number(name: Any, value: Any, evaluator: str) -> float:
    if isinstance(value, np.ndarray | np.generic) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f"{evaluator} returned {value!r} for the metric {name!r}.", next_step="A metric is a number."
        )
    if not math.isfinite(value):
        raise InputError(
            f"{evaluator} returned {float(value)} for the metric {name!r}.",
            next_step="A metric is a finite number; leave out one that does not exist.",
        )
    return float(value)


def _check_said(metrics: Mapping[str, float], rows: Rows, evaluator: str) -> None:
    for name in _ONE_DEFINITION:
        if name not in metrics or METRICS[name].missing(rows):
            continue
        value = METRICS[name].value(rows)
        if not math.isclose(metrics[name], value, rel_tol=1e-4, abs_tol=1e-6):
            raise InputError(
                f"{evaluator} returned {name} {metrics[name]:.6g}, but its rows say {value:.6g}.",
                next_step="Return the rows it was computed from, with their weights if it has any.",
            )
