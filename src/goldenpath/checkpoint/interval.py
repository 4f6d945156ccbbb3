"""How often to save.

The interval is Young's (J. W. Young, "A first order approximation to the optimum checkpoint
interval", CACM 17(9), 1974) with Daly's higher-order terms (J. T. Daly, "A higher order estimate of
the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006, equation 37).
"""

from __future__ import annotations

import math

from goldenpath.errors import InputError


def advised_interval(*, save_s: float, running_s: float, failures: int) -> float | None:
    """The seconds between saves that a run's own figures speak for; None without evidence.

    Args:
        save_s: How long one save kept training from its work; 0 where none was measured.
        running_s: How long the run's program ran, all starts together.
        failures: How often it was interrupted.
    """
    if failures > 0 and save_s > 0 and running_s > 0:
        return interval(save_s=save_s, mtbf_s=running_s / failures)
    return None


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
