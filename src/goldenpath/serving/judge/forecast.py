"""How long a verdict will need, told before the start."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldenpath.serving.judge import evidence
from goldenpath.serving.judge.spec import JudgeSpec

_LOOKS = 400
_UNSEEN_RATE = 0.01


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The expected length of a step. ``seconds`` is infinite where no verdict comes within ``limit_s``."""

    seconds: float
    metric: str
    """The metric that needs longest, or empty where time or requests alone decide."""
    sentence: str


def forecast(spec: JudgeSpec, *, rps: float, rates: dict[str, float], limit_s: float) -> Forecast:
    """Tells when a canary that is as good as the stable arm is expected to pass.

    Both arms are taken to answer with the stable arm's rates, every block being exactly the expected
    one. Chance makes about half of all steps longer.

    Args:
        spec: What the step will be judged by.
        rps: Requests a second that reach the service.
        rates: The stable arm's bad share for each metric, where seen; else one in a hundred is taken.
        limit_s: The longest that the step may last.
    """
    share = spec.canary_share
    fewest = rps * min(share, 1 - share)
    if not fewest:
        return _never("", rps, limit_s)
    plain_s = max(spec.bake_s, spec.min_requests / fewest) + spec.warmup_s
    worst, longest = "", plain_s
    step_s = limit_s / _LOOKS
    every = np.full(_LOOKS, step_s)
    for metric in spec.metrics:
        rate = min(max(rates.get(metric.name, _UNSEEN_RATE), 0.0), 1.0)
        stable, canary = every * rps * (1 - share), every * rps * share
        log_e = evidence.log_evidence(
            canary * rate,
            canary,
            stable * rate,
            stable,
            delta=-metric.margin,
            ratios=evidence.SAFE_RATIOS,
        )
        reached = np.nonzero(log_e >= -math.log(spec.alpha_pass))[0]
        if not reached.size:
            return _never(metric.name, rps, limit_s)
        seconds = float(reached[0] + 1) * step_s + spec.warmup_s
        if seconds > longest:
            worst, longest = metric.name, seconds
    if longest > limit_s:
        return _never(worst, rps, limit_s)
    return Forecast(
        seconds=longest,
        metric=worst,
        sentence=f"a verdict is expected after about {longest:.0f} s at {rps:.1f} requests a second",
    )


def _never(metric: str, rps: float, limit_s: float) -> Forecast:
    about = f"by {metric} " if metric else ""
    return Forecast(
        seconds=math.inf,
        metric=metric,
        sentence=f"no verdict {about}is expected within {limit_s:g} s at {rps:.1f} requests a second",
    )
