from __future__ import annotations

import math

import pytest

from goldenpath.serving.judge.samples import Arm, Sample
from goldenpath.serving.judge.spec import JudgeSpec, MetricSpec
from goldenpath.serving.judge.verdict import Verdict, judge

SPEC = JudgeSpec(
    metrics=(MetricSpec(name="errors", margin=0.02, burst=True),),
    canary_share=0.5,
    alpha_fail=0.05,
    alpha_pass=0.05,
    min_requests=100,
    bake_s=5,
    warmup_s=0,
    stale_s=10,
)


def arm(bad: float, total: float, *, requests: float | None = None) -> Arm:
    return Arm(requests=total if requests is None else requests, metrics={"errors": (bad, total)})


def series(
    *,
    stable: float = 0.0,
    canary: float = 0.0,
    looks: int = 20,
    n: float = 200,
    stable_n: float | None = None,
) -> list[Sample]:
    """Samples a second apart in which both arms err with exactly the given share."""
    m = n if stable_n is None else stable_n
    return [
        Sample(
            at=float(t), stable=arm(round(stable * m * t), m * t), canary=arm(round(canary * n * t), n * t)
        )
        for t in range(looks + 1)
    ]


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        (series(), Verdict.PASS),
        (series(stable=0.01, canary=0.01), Verdict.PASS),
        (series(stable=0.01, canary=0.10), Verdict.FAIL),
        (series(stable=0.01, canary=0.04), Verdict.FAIL),
        (series(stable=0.01, canary=0.03), Verdict.INCONCLUSIVE),
        (series(stable=0.2, canary=0.01), Verdict.PASS),
        (series(looks=1), Verdict.INCONCLUSIVE),
        (series(looks=3), Verdict.INCONCLUSIVE),
        (series(n=4), Verdict.INCONCLUSIVE),
        (series(n=0), Verdict.ERROR),
        (series(n=0, stable_n=100), Verdict.ERROR),
        ([], Verdict.ERROR),
    ],
)
def test_the_verdict_follows_the_rates(samples: list[Sample], verdict: Verdict) -> None:
    assert judge(SPEC, samples).verdict is verdict


def test_a_stable_arm_that_breaks_is_not_the_canarys_fault() -> None:
    assert judge(SPEC, series(stable=0.6, canary=0.6)).verdict is Verdict.INCONCLUSIVE
    assert judge(SPEC, series(stable=0.6, canary=0.1)).verdict is Verdict.PASS


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_counters_that_are_no_counts_are_an_error(value: float) -> None:
    samples = [*series(), Sample(at=21.0, stable=arm(0, 4200), canary=arm(value, 4200))]
    found = judge(SPEC, samples)
    assert found.verdict is Verdict.ERROR
    assert "errors" in found.reason


def test_a_missing_metric_is_an_error() -> None:
    samples = [*series(), Sample(at=21.0, stable=arm(0, 4200), canary=Arm(requests=4200, metrics={}))]
    found = judge(SPEC, samples)
    assert found.verdict is Verdict.ERROR
    assert "canary arm has no 'errors'" in found.reason


def test_unreadable_metrics_are_an_error_after_a_while_and_never_a_pass() -> None:
    unread = [Sample(at=20.0 + t, problem="connection refused") for t in range(1, 13)]
    found = judge(SPEC, series() + unread)
    assert found.verdict is Verdict.ERROR
    assert "connection refused" in found.reason
    assert judge(SPEC, unread).verdict is Verdict.ERROR


def test_a_clock_that_goes_backwards_is_an_error() -> None:
    samples = series()
    assert judge(SPEC, [*samples, samples[3]]).verdict is Verdict.ERROR


def test_a_restart_counts_from_zero_again() -> None:
    before, after = series(looks=10), series(looks=10)
    moved = [s.model_copy(update={"at": s.at + 11}) for s in after]
    found = judge(SPEC, before + moved)
    assert found.verdict is Verdict.PASS
    assert found.metrics[0].canary_requests == 4000


def test_the_warm_up_is_left_out() -> None:
    cold = Sample(at=1.0, stable=arm(0, 100), canary=arm(60, 100))
    later = [
        Sample(at=2.0 + t, stable=arm(0, 100 + 200 * t), canary=arm(60, 100 + 200 * t)) for t in range(1, 20)
    ]
    samples = [Sample(at=0.0, stable=arm(0, 0), canary=arm(0, 0)), cold, *later]
    warmed = SPEC.model_copy(update={"warmup_s": 2.5})
    assert judge(SPEC, samples[:2]).verdict is Verdict.FAIL
    assert judge(warmed, samples[:2]).verdict is Verdict.INCONCLUSIVE
    assert judge(warmed, samples).metrics[0].canary_rate == 0.0


def test_another_split_than_asked_for_is_an_error() -> None:
    found = judge(SPEC, series(n=40, stable_n=200))
    assert found.verdict is Verdict.ERROR
    assert "not split as asked" in found.reason


def test_a_burst_fails_at_once_without_waiting_for_evidence() -> None:
    samples = series(looks=2, n=6)
    burst = Sample(at=3.0, stable=arm(0, 18), canary=arm(12, 24))
    found = judge(SPEC, [*samples, burst])
    assert found.verdict is Verdict.FAIL
    assert "burst" in found.reason


def test_a_burst_at_both_arms_is_no_burst_of_the_canarys() -> None:
    samples = series(looks=2, n=6)
    both = Sample(at=3.0, stable=arm(24, 36), canary=arm(12, 24))
    assert judge(SPEC, [*samples, both]).verdict is not Verdict.FAIL


def test_a_canary_that_is_not_ready_three_times_fails() -> None:
    samples = series()
    gone = [samples[-1].model_copy(update={"at": 21.0 + t, "canary_ready": False}) for t in range(3)]
    assert judge(SPEC, samples + gone[:2]).verdict is Verdict.PASS
    assert judge(SPEC, samples + gone).verdict is Verdict.FAIL


def test_counters_read_at_different_instants_are_joined() -> None:
    torn = [
        Sample(at=float(t), stable=arm(0, 200 * t), canary=arm(2 * t + (300 if t == 3 else 0), 200 * t))
        for t in range(4)
    ]
    whole = judge(SPEC, [s for s in torn if s.at != 3.0])
    assert judge(SPEC, torn).metrics == whole.metrics


def test_one_metric_that_fails_fails_all_and_one_that_is_open_keeps_all_open() -> None:
    two = SPEC.model_copy(update={"metrics": (*SPEC.metrics, MetricSpec(name="slow", margin=0.05))})

    def with_slow(share: float, looks: int = 20) -> list[Sample]:
        return [
            Sample(
                at=s.at,
                **{
                    name: found.model_copy(
                        update={"metrics": found.metrics | {"slow": (share * found.requests, found.requests)}}
                    )
                    if name == "canary"
                    else found.model_copy(update={"metrics": found.metrics | {"slow": (0.0, found.requests)}})
                    for name, found in (("stable", s.stable), ("canary", s.canary))
                    if found is not None
                },
            )
            for s in series(looks=looks)
        ]

    assert judge(two, with_slow(0.0)).verdict is Verdict.PASS
    assert judge(two, with_slow(0.5)).verdict is Verdict.FAIL
    assert judge(two, with_slow(0.05)).verdict is Verdict.INCONCLUSIVE
