"""Estimates of a harm: its value, one-sided bounds at any error rate, and a test against a margin.

Harm is how much worse the candidate is, in the metric's unit: negative where it is better. Every
bound is one-sided: ``upper(0.05)`` is below the true harm in at most 5 of 100 samples.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from goldenpath.evaluation.rows import Floats

_NORMAL = NormalDist()
_HALVINGS = 40


class Estimate(Protocol):
    """A harm measured on a sample."""

    @property
    def harm(self) -> float:
        """The harm seen."""

    @property
    def method(self) -> str:
        """The method's name, for the record."""

    def lower(self, alpha: float) -> float:
        """What the true harm is over, but for an error rate of alpha."""

    def upper(self, alpha: float) -> float:
        """What the true harm is under, but for an error rate of alpha."""

    def p_over(self, margin: float) -> float:
        """How likely a harm like this is, or a worse one, if the true harm is the margin."""


@dataclass(frozen=True, kw_only=True)
class Normal:
    """A harm with a standard error, its distribution close to normal."""

    harm: float
    error: float
    method: str

    def lower(self, alpha: float) -> float:
        """See Estimate."""
        return self.harm + _NORMAL.inv_cdf(alpha) * self.error

    def upper(self, alpha: float) -> float:
        """See Estimate."""
        return self.harm - _NORMAL.inv_cdf(alpha) * self.error

    def p_over(self, margin: float) -> float:
        """See Estimate."""
        if self.error == 0:
            return 0.0 if self.harm > margin else 1.0
        return _NORMAL.cdf((margin - self.harm) / self.error)


@dataclass(frozen=True, kw_only=True)
class Replicates:
    """A harm, and its values on samples drawn again: percentiles are the bounds (Efron, 1979)."""

    harm: float
    values: Floats
    method: str

    def lower(self, alpha: float) -> float:
        """See Estimate."""
        return float(np.quantile(self.values, alpha))

    def upper(self, alpha: float) -> float:
        """See Estimate."""
        return float(np.quantile(self.values, 1 - alpha))

    def p_over(self, margin: float) -> float:
        """See Estimate."""
        return float((1 + np.count_nonzero(self.values <= margin)) / (1 + len(self.values)))


@dataclass(frozen=True, kw_only=True)
class PairedProportions:
    """The difference of two proportions on the same ``n`` rows, of which only the discordant ones tell.

    The bounds are the wider of two: Tango's score interval (Statistics in Medicine 17, 1998), whose
    statistic at 0 is McNemar's, and the exact interval of the binomial given the number of discordant
    rows, which holds where these are few.
    """

    n: int
    worse: int
    """Rows that the champion has right and the candidate wrong."""
    better: int
    scale: float = 1.0
    """What one row counts, for metrics that are no proportion."""
    method: str = "McNemar, score and exact interval (Tango 1998)"

    _EXACT_UP_TO = 10_000

    @property
    def harm(self) -> float:
        """See Estimate."""
        return self.scale * (self.worse - self.better) / self.n

    def lower(self, alpha: float) -> float:
        """See Estimate."""
        return -self._mirrored().upper(alpha)

    def upper(self, alpha: float) -> float:
        """See Estimate."""
        low, high = self.harm / self.scale, 1.0
        # The chance of seeing so little harm falls as the true harm grows: halve down to alpha.
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._p_under(middle) > alpha:
                low = middle
            else:
                high = middle
        return self.scale * high

    def p_over(self, margin: float) -> float:
        """See Estimate."""
        return self._mirrored()._p_under(-margin / self.scale)

    def _mirrored(self) -> PairedProportions:
        return PairedProportions(n=self.n, worse=self.better, better=self.worse, scale=self.scale)

    def _p_under(self, harm: float) -> float:
        """How likely so little harm is, or less, if the true harm is this one."""
        return max(_NORMAL.cdf(self._score(harm)), self._exact_p_under(harm))

    def _score(self, harm: float) -> float:
        n, b, c = self.n, self.worse, self.better
        linear = -b - c + (2 * n - b + c) * harm
        constant = -c * harm * (1 - harm)
        better_rate = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
        variance = n * (2 * better_rate + harm * (1 - harm))
        distance = b - c - n * harm
        if variance <= 0:
            return 0.0 if distance == 0 else math.copysign(math.inf, distance)
        return distance / math.sqrt(variance)

    def _exact_p_under(self, harm: float) -> float:
        discordant = self.worse + self.better
        if discordant == 0 or discordant > self._EXACT_UP_TO:
            return 0.0
        share = (1 + harm * self.n / discordant) / 2
        return _binomial_cdf(self.worse, discordant, share)


def _binomial_cdf(k: int, n: int, p: float) -> float:
    """P(X <= k) of a binomial with n trials.

    A ``p`` of 1 or more means more harm than all discordant rows together: whatever was seen, it is less.
    """
    if p <= 0:
        return 1.0
    if p >= 1:
        return 0.0
    counts = np.arange(k + 1)
    terms = _log_binomials(n)[: k + 1] + counts * math.log(p) + (n - counts) * math.log1p(-p)
    return float(np.exp(terms).sum())


@functools.lru_cache(maxsize=32)
def _log_binomials(n: int) -> Floats:
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    return np.asarray(factorials[n] - factorials - factorials[::-1], dtype=np.float64)


def rows_needed(found: Estimate, *, alpha: float, margin: float, n: int) -> int | None:
    """About how many rows would decide, if the harm and its spread stay as they are; None if none would.

    A bound's distance from the harm shrinks with the root of the rows, and has to shrink to the
    distance between harm and margin.
    """
    gap = abs(margin - found.harm)
    reach = found.upper(alpha) - found.harm if found.harm <= margin else found.harm - found.lower(alpha)
    # A harm within a thousandth of what is uncertain about it is at the margin, for all anyone can tell.
    if gap <= reach / 1000:
        return None
    return math.ceil(n * (reach / gap) ** 2)
