"""Goodput: how much of a run's time was training, and how often to save.

The interval is Young's (J. W. Young, "A first order approximation to the optimum checkpoint
interval", CACM 17(9), 1974) with Daly's higher-order terms (J. T. Daly, "A higher order estimate of
the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006, equation 37).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from goldenpath.errors import InputError

KINDS = ("productive_s", "saving_s", "loading_s", "lost_s", "waiting_s")
"""The kinds of a run's time, as a training result names them."""


@dataclass(frozen=True, kw_only=True)
class Goodput:
    """A run's time by kind, in seconds, and the interval that it speaks for."""

    productive_s: float
    saving_s: float
    loading_s: float
    lost_s: float
    """Training since the last checkpoint that a failure undid."""
    waiting_s: float
    goodput: float
    """The productive share of all time, 0 to 1."""
    failures: int
    interval_s: float | None
    """The advised seconds between saves; None without a failure, or without a measured save."""


def goodput(seconds: Mapping[str, float], *, save_s: float, failures: int) -> Goodput:
    """Sums up a run.

    Args:
        seconds: Seconds by kind; what is not there counts as 0.
        save_s: How long one save kept training from its work; 0 where none was measured.
        failures: How often the run was interrupted.

    Raises:
        InputError: A number is negative or not finite.
    """
    time = {kind: float(seconds.get(kind, 0.0)) for kind in KINDS}
    for kind, value in time.items():
        if not math.isfinite(value) or value < 0:
            raise InputError(f"{kind} is {value}, which is no duration.")
    total = sum(time.values())
    running = total - time["waiting_s"]
    advised = None
    if failures > 0 and save_s > 0 and running > 0:
        advised = interval(save_s=save_s, mtbf_s=running / failures)
    return Goodput(
        **time,
        goodput=time["productive_s"] / total if total else 0.0,
        failures=failures,
        interval_s=advised,
    )


def interval(*, save_s: float, mtbf_s: float) -> float:
    """The seconds of training between saves that lose least time.

    Args:
        save_s: How long one save keeps training from its work.
        mtbf_s: The mean time between failures.

    Raises:
        InputError: Either is not a positive number.
    """
    for name, value in (("save_s", save_s), ("mtbf_s", mtbf_s)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name} is {value}; it must be a positive number of seconds.")
    if save_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = save_s / (2 * mtbf_s)
    return math.sqrt(2 * save_s * mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save_s
