"""The verdict on a canary from the samples of one step."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum

from goldenpath.serving.judge import evidence
from goldenpath.serving.judge.blocks import BadCounters, Blocks, blocks_of, requests_of
from goldenpath.serving.judge.samples import Sample
from goldenpath.serving.judge.spec import JudgeSpec, MetricSpec

BURST_REQUESTS = 10
"""Bad requests of the canary within ``BURST_BLOCKS`` that make a burst, if they are half of its requests."""
BURST_BLOCKS = 5
UNREADY_LOOKS = 3
"""Looks in a row at a canary that is not ready after which it failed."""
MISMATCH_ALPHA = 0.001
"""The chance of calling a right split a mismatch."""


class Verdict(StrEnum):
    """What the samples say."""

    PASS = "pass"  # noqa: S105  (a verdict, no password)
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    """There is no evidence to judge by: absent, stale, damaged, or of another split than asked for."""


@dataclass(frozen=True, kw_only=True)
class MetricVerdict:
    """One metric's share of a judgement. Rates are shares of requests, bounds those of canary - stable."""

    name: str
    verdict: Verdict
    margin: float
    low: float
    high: float
    stable_rate: float
    stable_requests: int
    canary_rate: float
    canary_requests: int

    @property
    def sentence(self) -> str:
        """For people: the rates, the interval and the margin."""
        return (
            f"{self.name}: {_percent(self.canary_rate)} of {self.canary_requests} requests at the canary, "
            f"{_percent(self.stable_rate)} of {self.stable_requests} at the stable arm; the difference is "
            f"between {_percent(self.low)} and {_percent(self.high)}, {_percent(self.margin)} is allowed"
        )


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict with its reason and the metrics behind it."""

    verdict: Verdict
    reason: str
    metrics: tuple[MetricVerdict, ...] = ()
    judged_s: float = 0.0
    """Seconds between the first and the last sample that count."""


def judge(spec: JudgeSpec, samples: list[Sample]) -> Judgement:
    """Judges a step by all its samples so far, the last one being now.

    The same samples give the same verdict, whenever they are judged.
    """
    unready = _not_ready(samples)
    if unready is not None:
        return unready
    counted = _counted(spec, samples)
    if isinstance(counted, Judgement):
        return counted
    try:
        blocks = [blocks_of(counted, metric.name) for metric in spec.metrics]
    except BadCounters as fault:
        return Judgement(verdict=Verdict.ERROR, reason=f"The metrics cannot be judged: {fault}.")
    judged_s = counted[-1].at - counted[0].at
    for metric, block in zip(spec.metrics, blocks, strict=True):
        if metric.burst and (burst := _burst(metric, block)):
            return Judgement(verdict=Verdict.FAIL, reason=burst, judged_s=judged_s)
    idle = _no_traffic(spec, counted, blocks, judged_s) or _mismatch(spec, counted)
    if idle:
        return Judgement(verdict=Verdict.ERROR, reason=idle, judged_s=judged_s)
    found = tuple(
        _judge_metric(spec, metric, block) for metric, block in zip(spec.metrics, blocks, strict=True)
    )
    return _together(spec, found, judged_s)


def _counted(spec: JudgeSpec, samples: list[Sample]) -> list[Sample] | Judgement:
    """The readable samples after the warm-up, if they are enough and fresh."""
    if not samples:
        return Judgement(verdict=Verdict.ERROR, reason="There are no samples.")
    now, start = samples[-1].at, samples[0].at
    readable = [s for s in samples if s.stable is not None and s.canary is not None]
    if now - (readable[-1].at if readable else start) > spec.stale_s:
        problem = samples[-1].problem or "no reason given"
        return Judgement(
            verdict=Verdict.ERROR,
            reason=f"The metrics could not be read for more than {spec.stale_s:g} s: {problem}.",
        )
    if any(b.at < a.at for a, b in itertools.pairwise(samples)):
        return Judgement(verdict=Verdict.ERROR, reason="The samples' clock went backwards.")
    counted = [s for s in readable if s.at >= start + spec.warmup_s]
    if len(counted) < 2:
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason="The step has just begun.")
    return counted


def _not_ready(samples: list[Sample]) -> Judgement | None:
    last = samples[-UNREADY_LOOKS:]
    if len(last) == UNREADY_LOOKS and not any(s.canary_ready for s in last):
        reason = f"The canary was not ready at {UNREADY_LOOKS} looks in a row."
        return Judgement(verdict=Verdict.FAIL, reason=reason)
    return None


def _burst(metric: MetricSpec, blocks: Blocks) -> str:
    bad, total = blocks.canary_bad[-BURST_BLOCKS:].sum(), blocks.canary_all[-BURST_BLOCKS:].sum()
    stable_bad, stable_all = blocks.stable_bad[-BURST_BLOCKS:].sum(), blocks.stable_all[-BURST_BLOCKS:].sum()
    # A stable arm that breaks likewise points at something that both depend on.
    if bad < BURST_REQUESTS or bad < total / 2 or stable_bad >= stable_all / 2 > 0:
        return ""
    return f"A burst of bad requests at the canary: {metric.name} of {bad:.0f} in its last {total:.0f}."


def _no_traffic(spec: JudgeSpec, samples: list[Sample], blocks: list[Blocks], judged_s: float) -> str:
    if judged_s <= spec.stale_s:
        return ""
    for metric, block in zip(spec.metrics, blocks, strict=True):
        for arm, total in (("stable arm", block.stable_all), ("canary", block.canary_all)):
            if not total.sum():
                sent = dict(zip(("stable arm", "canary"), requests_of(samples), strict=True))[arm]
                return (
                    f"There is no traffic to judge by: the {arm} answered no request that counts for "
                    f"{metric.name} in {judged_s:.0f} s ({sent:.0f} were sent to it)."
                )
    return ""


def _mismatch(spec: JudgeSpec, samples: list[Sample]) -> str:
    """Compares the observed split with the asked one, at every look (Lindon & Malek 2022).

    The likelihood of a Beta mixture around the asked share against that of the share itself.
    """
    stable, canary = requests_of(samples)
    total, share, weight = stable + canary, spec.canary_share, 100.0
    if not total:
        return ""
    a, b = weight * share, weight * (1 - share)
    log_e = (
        _log_beta(a + canary, b + stable)
        - _log_beta(a, b)
        - canary * math.log(share)
        - stable * math.log1p(-share)
    )
    if log_e < -math.log(MISMATCH_ALPHA):
        return ""
    return (
        f"The traffic is not split as asked: the canary got {_percent(canary / total)} of {total:.0f} "
        f"requests, not {_percent(share)}."
    )


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _judge_metric(spec: JudgeSpec, metric: MetricSpec, blocks: Blocks) -> MetricVerdict:
    arms = (blocks.stable_bad, blocks.stable_all, blocks.canary_bad, blocks.canary_all)
    low, high = evidence.difference_bounds(
        *arms, alpha_low=spec.alpha_fail / len(spec.metrics), alpha_high=spec.alpha_pass
    )
    verdict = Verdict.INCONCLUSIVE
    if low > metric.margin:
        verdict = Verdict.FAIL
    elif high < metric.margin:
        verdict = Verdict.PASS
    stable, canary = blocks.stable_all.sum(), blocks.canary_all.sum()
    return MetricVerdict(
        name=metric.name,
        verdict=verdict,
        margin=metric.margin,
        low=low,
        high=high,
        stable_rate=float(blocks.stable_bad.sum() / max(stable, 1.0)),
        stable_requests=int(stable),
        canary_rate=float(blocks.canary_bad.sum() / max(canary, 1.0)),
        canary_requests=int(canary),
    )


def _together(spec: JudgeSpec, metrics: tuple[MetricVerdict, ...], judged_s: float) -> Judgement:
    failed = [m for m in metrics if m.verdict is Verdict.FAIL]
    open_ = [m for m in metrics if m.verdict is Verdict.INCONCLUSIVE]
    fewest = min(min(m.stable_requests, m.canary_requests) for m in metrics)
    if failed:
        verdict, reason = Verdict.FAIL, "; ".join(m.sentence for m in failed) + "."
    elif open_:
        verdict, reason = Verdict.INCONCLUSIVE, "; ".join(m.sentence for m in open_) + "."
    elif fewest < spec.min_requests:
        verdict, reason = Verdict.INCONCLUSIVE, f"{fewest} of {spec.min_requests} requests an arm."
    elif judged_s < spec.bake_s:
        verdict, reason = Verdict.INCONCLUSIVE, f"{judged_s:.0f} of {spec.bake_s:g} s to bake."
    else:
        verdict, reason = Verdict.PASS, "; ".join(m.sentence for m in metrics) + "."
    return Judgement(verdict=verdict, reason=reason, metrics=metrics, judged_s=judged_s)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
