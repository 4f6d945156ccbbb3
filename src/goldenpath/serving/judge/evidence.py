"""Anytime-valid evidence about the difference of two Bernoulli rates.

Two arms answer requests; each request of an arm is bad with the arm's rate. Between two looks a block
of requests arrives at each arm. For the null hypothesis ``other rate - base rate <= delta`` every block
is a bet whose expected pay-off is at most 1 if the null holds, so the product over the blocks is an
e-process: the chance that it ever reaches ``1/alpha`` is at most ``alpha``, however often one looks
(Ville's inequality; Shafer, Shen, Vereshchagin & Vovk 2011, "Test martingales, Bayes factors and
p-values"). The bet of a block is the likelihood ratio between predicted rates and their projection on
the null; that this is an e-variable is shown for two Bernoulli streams by Turner, Ly & Grünwald 2024
(arXiv 2106.02693) and for differences other than zero by Turner & Grünwald 2023 (arXiv 2203.09785).

Why it holds, in short. Let ``t`` be the base rate's distance from the projection. A block's expectation
is ``(1 + t a)^n (1 + t b)^m <= exp(t (n a + m b))``, with ``a`` and ``b`` the slopes of the two
log-likelihoods at the projection, and ``n a + m b = 0`` is what makes it the projection. A smaller
difference only lowers the other arm's factor, as ``b >= 0`` by the choice of the predictions. Nothing
is asked of the rates but that each block keeps their difference: they may drift together.

The predictions come from earlier blocks alone. Several strategies bet side by side with equal shares;
a mean of e-processes is one again. What is assumed: requests of a block are independent given its
rates. Errors that come in bunches carry less evidence than is counted here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

PLUG_IN = 0.0
"""The strategy that predicts each arm by its own past."""
HARM_RATIOS = (PLUG_IN, 2.0, 4.0)
"""Strategies that look for harm: also two and four times the base's rate on top of the margin."""
SAFE_RATIOS = (PLUG_IN, 1.0)
"""Strategies that look for safety: also no difference at all."""

_PRIOR_BAD, _PRIOR_ALL = 0.5, 20.5
_TINY = 1e-9
_WIDEST = 1 - 1e-6
_BISECTIONS = 30
_NEWTON_STEPS = 3


def log_evidence(
    base_bad: Array,
    base_all: Array,
    other_bad: Array,
    other_all: Array,
    *,
    delta: float,
    ratios: tuple[float, ...],
) -> Array:
    """The log of the e-process against ``other rate - base rate <= delta`` after each block.

    Args:
        base_bad: Bad requests of the base arm in each block, shape ``(..., blocks)``.
        base_all: All its requests; same shape.
        other_bad: Bad requests of the other arm.
        other_all: All its requests.
        delta: The largest difference under the null, in (-1, 1).
        ratios: The strategies.

    Returns:
        Natural logarithms, shape ``(..., blocks)``; reject at level alpha where above ``log(1/alpha)``.
    """
    before = [_before(counts) for counts in (base_bad, base_all, other_bad, other_all)]
    wealth = [
        np.cumsum(_bet(before, (base_bad, base_all, other_bad, other_all), delta, ratio), axis=-1)
        for ratio in ratios
    ]
    mean: Array = np.logaddexp.reduce(np.stack(wealth), axis=0) - math.log(len(ratios))
    return mean


def difference_bounds(
    base_bad: Array,
    base_all: Array,
    other_bad: Array,
    other_all: Array,
    *,
    alpha_low: float,
    alpha_high: float,
) -> tuple[float, float]:
    """A confidence sequence for ``other rate - base rate``, as it stands after the last block.

    The lower bound is the smallest difference that was never rejected as too small at ``alpha_low``,
    the upper one the largest never rejected as too large at ``alpha_high``; each alone covers the
    truth at all looks together with its level.

    Args:
        base_bad: Bad requests of the base arm in each block, shape ``(blocks,)``; the others alike.
        base_all: All its requests.
        other_bad: Bad requests of the other arm.
        other_all: All its requests.
        alpha_low: The level of the lower bound.
        alpha_high: The level of the upper bound.
    """

    def too_small(delta: float) -> bool:
        return peak(
            log_evidence(base_bad, base_all, other_bad, other_all, delta=delta, ratios=HARM_RATIOS)
        ) >= -math.log(alpha_low)

    def too_large(delta: float) -> bool:
        return peak(
            log_evidence(other_bad, other_all, base_bad, base_all, delta=-delta, ratios=SAFE_RATIOS)
        ) >= -math.log(alpha_high)

    return _edge(too_small, -_WIDEST, _WIDEST), _edge(too_large, _WIDEST, -_WIDEST)


def peak(log_e: Array) -> float:
    """The highest value so far of one e-process; 0 before the first block."""
    return float(np.max(log_e, initial=0.0))


def projection(
    base_bad: Array, base_all: Array, other_bad: Array, other_all: Array, delta: float
) -> tuple[Array, Array]:
    """The rates of highest likelihood among those with ``other - base = delta``.

    The closed root of the likelihood equation, a cubic (Miettinen & Nurminen 1985; Farrington &
    Manning 1990), with a few Newton steps on the equation itself for small rates. Counts may be
    fractions; those of each arm must be positive.
    """
    theta = base_all / other_all
    p_other, p_base = other_bad / other_all, base_bad / base_all
    a = 1 + theta
    b = -(1 + theta + p_other + theta * p_base + delta * (theta + 2))
    c = delta**2 + delta * (2 * p_other + theta + 1) + p_other + theta * p_base
    d = -p_other * delta * (1 + delta)
    v = b**3 / (27 * a**3) - b * c / (6 * a**2) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum(b**2 / (9 * a**2) - c / (3 * a), _TINY**2)), v)
    w = (math.pi + np.arccos(np.clip(v / u**3, -1, 1))) / 3
    low, high = max(0.0, -delta) + _TINY, min(1.0, 1.0 - delta) - _TINY
    base = np.clip(2 * u * np.cos(w) - b / (3 * a) - delta, low, high)
    for _ in range(_NEWTON_STEPS):
        other = base + delta
        slope = (base_bad - base_all * base) / (base * (1 - base)) + (other_bad - other_all * other) / (
            other * (1 - other)
        )
        bend = (
            base_bad / base**2
            + (base_all - base_bad) / (1 - base) ** 2
            + other_bad / other**2
            + (other_all - other_bad) / (1 - other) ** 2
        )
        base = np.clip(base + slope / bend, low, high)
    return base, base + delta


def _bet(before: list[Array], block: tuple[Array, Array, Array, Array], delta: float, ratio: float) -> Array:
    """The log pay-off of one strategy in each block."""
    base_bad, base_all, other_bad, other_all = block
    base, other = _predict(before, delta, ratio)
    # No bet on the first block, for nothing is known yet; nor where an arm has no requests, or where
    # the prediction is in the null already.
    plays = (
        (before[1] > 0) & (before[3] > 0) & (base_all > 0) & (other_all > 0) & (other > base + delta + _TINY)
    )
    n, m = np.where(plays, base_all, 1.0), np.where(plays, other_all, 1.0)
    null_base, null_other = projection(n * base, n, m * other, m, delta)
    paid = (
        _log_likelihood(base_bad, base_all, base)
        + _log_likelihood(other_bad, other_all, other)
        - _log_likelihood(base_bad, base_all, null_base)
        - _log_likelihood(other_bad, other_all, null_other)
    )
    return np.where(plays, paid, 0.0)


def _predict(before: list[Array], delta: float, ratio: float) -> tuple[Array, Array]:
    """The rates that a strategy expects in each block, from the blocks before it."""
    base_bad, base_all, other_bad, other_all = before
    if ratio == PLUG_IN:
        base = (base_bad + _PRIOR_BAD) / (base_all + _PRIOR_ALL)
        other = (other_bad + _PRIOR_BAD) / (other_all + _PRIOR_ALL)
    else:
        # Both arms together tell the level; `other = ratio * base + excess` splits it between them.
        excess = max(delta, 0.0)
        everything = base_all + other_all
        share = np.where(everything > 0, other_all / np.maximum(everything, 1.0), 0.5)
        level = (base_bad + other_bad + _PRIOR_BAD) / (everything + _PRIOR_ALL)
        base = (level - share * excess) / (1 - share + share * ratio)
        base = np.maximum(base, _PRIOR_BAD / (everything + _PRIOR_ALL))
        other = ratio * base + excess
    base = np.clip(base, 2 * _TINY, min(1.0, 1.0 - delta) - 2 * _TINY)
    return base, np.clip(np.maximum(other, base + delta), 2 * _TINY, 1 - 2 * _TINY)


def _before(counts: Array) -> Array:
    """Running totals without the block itself."""
    return np.cumsum(counts, axis=-1) - counts


def _log_likelihood(bad: Array, total: Array, rate: Array) -> Array:
    return bad * np.log(rate) + (total - bad) * np.log1p(-rate)


def _edge(rejected: Callable[[float], bool], start: float, stop: float) -> float:
    """Where the rejected differences end, going from ``start`` towards ``stop``."""
    if not rejected(start):
        return start
    for _ in range(_BISECTIONS):
        middle = (start + stop) / 2
        if rejected(middle):
            start = middle
        else:
            stop = middle
    return start
