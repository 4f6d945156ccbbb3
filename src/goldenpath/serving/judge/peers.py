"""The known judges, for comparison: each tells at which looks it would take the canary back.

Inputs are counts of bad requests, shape ``(rollouts, looks)``, with ``n`` requests an arm between two
looks; outputs are booleans of that shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from goldenpath.serving.judge.evidence import Array

Flags = npt.NDArray[np.bool_]

_Z_95 = 1.6449
_Z_99 = 2.3263
_THRESHOLD = 0.02
_FLAGGER_FAILURES = 5
_KAYENTA_POINTS = 5


def z_test(stable: Array, canary: Array, n: int) -> Flags:
    """A one-sided z-test at 5% on all requests so far, at every look."""
    seen = n * np.arange(1, stable.shape[1] + 1)
    p, q = np.cumsum(stable, axis=1) / seen, np.cumsum(canary, axis=1) / seen
    pooled = (p + q) / 2
    error = np.sqrt(np.maximum(2 * pooled * (1 - pooled) / seen, 1e-300))
    flags: Flags = (q - p) / error > _Z_95
    return flags


def flagger_threshold(_stable: Array, canary: Array, n: int) -> Flags:
    """Flagger's way: the canary's own rate of each interval over 2%, five times in all."""
    return np.cumsum(canary / n > _THRESHOLD, axis=1) >= _FLAGGER_FAILURES


def argo_failure_condition(_stable: Array, canary: Array, n: int) -> Flags:
    """Argo Rollouts' way: failureCondition ``result > 0.02`` with the default failureLimit of 0."""
    return canary / n > _THRESHOLD


def mann_whitney(stable: Array, canary: Array, n: int) -> Flags:
    """Kayenta's way: Mann-Whitney on the intervals' rates so far, at 98% both sides.

    The normal approximation with mid-ranks, from five intervals on; errors of one interval are one
    point, so that what counts is its rank alone.
    """
    del n
    flags = np.zeros(stable.shape, dtype=np.bool_)
    for look in range(_KAYENTA_POINTS, stable.shape[1] + 1):
        a, b = canary[:, :look, None], stable[:, None, :look]
        u = (a > b).sum((1, 2)) + 0.5 * (a == b).sum((1, 2))
        both = np.concatenate((canary[:, :look], stable[:, :look]), axis=1)
        below = (both[:, :, None] > both[:, None, :]).sum(2)
        ties = (both[:, :, None] == both[:, None, :]).sum(2)
        ranks = below + (ties + 1) / 2
        count = 2 * look
        spread = ((ranks - (count + 1) / 2) ** 2).sum(1)
        variance = look * look / (count * (count - 1)) * spread
        flags[:, look - 1] = u - look * look / 2 > _Z_99 * np.sqrt(np.maximum(variance, 1e-300))
    return flags


PEERS: dict[str, Callable[[Array, Array, int], Flags]] = {
    "z-test at every look": z_test,
    "Flagger's threshold": flagger_threshold,
    "Argo Rollouts' failureCondition": argo_failure_condition,
    "Kayenta's Mann-Whitney": mann_whitney,
}
"""Every judge compared with, by its name."""
