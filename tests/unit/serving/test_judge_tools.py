from __future__ import annotations

import json
import math

import numpy as np
import pytest

from goldenpath.errors import DataDamaged, InputError
from goldenpath.serving.judge.forecast import forecast
from goldenpath.serving.judge.peers import PEERS
from goldenpath.serving.judge.record import read_record, record_lines
from goldenpath.serving.judge.samples import Arm, Sample
from goldenpath.serving.judge.simulate import OURS, simulate
from goldenpath.serving.judge.spec import JudgeSpec, MetricSpec
from goldenpath.serving.judge.verdict import judge

SPEC = JudgeSpec(
    metrics=(MetricSpec(name="errors", margin=0.02, burst=True),),
    canary_share=0.2,
    alpha_fail=0.025,
    alpha_pass=0.05,
    min_requests=100,
    bake_s=5,
    warmup_s=1,
    stale_s=10,
)


def samples(count: int) -> list[Sample]:
    return [
        Sample(
            at=float(t),
            stable=Arm(requests=80.0 * t, metrics={"errors": (0.0, 80.0 * t)}),
            canary=Arm(requests=20.0 * t, metrics={"errors": (0.0, 20.0 * t)}),
        )
        for t in range(count)
    ]


def test_a_record_gives_the_same_verdict() -> None:
    taken = [*samples(20), Sample(at=20.0, problem="away")]
    read = read_record(record_lines(SPEC, taken), where="here")
    assert read.samples == taken
    assert judge(read.spec, read.samples) == judge(SPEC, taken)


def test_a_record_keeps_what_is_no_number() -> None:
    odd = Sample(at=0.0, stable=Arm(requests=math.inf, metrics={"errors": (math.nan, 1.0)}))
    read = read_record(record_lines(SPEC, [odd]), where="here").samples[0].stable
    assert read is not None
    assert math.isinf(read.requests)
    assert math.isnan(read.metrics["errors"][0])


def test_the_last_line_of_a_killed_writer_is_left_out_only_if_asked() -> None:
    text = record_lines(SPEC, samples(3))[:-10]
    assert len(read_record(text, where="here", torn=True).samples) == 2
    with pytest.raises(DataDamaged, match="Line 4 of here"):
        read_record(text, where="here")


@pytest.mark.parametrize("text", ["", "{}\n", "nonsense\n"])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(DataDamaged, match="here"):
        read_record(text, where="here")


def test_the_forecast_is_near_what_the_judge_needs() -> None:
    expected = forecast(SPEC, rps=100, rates={"errors": 0.0}, limit_s=300)
    needed = next(n for n in range(2, 200) if judge(SPEC, samples(n)).verdict.value == "pass")
    assert expected.seconds == pytest.approx(needed - 1, rel=0.35)


@pytest.mark.parametrize(("rps", "limit_s"), [(0.0, 300.0), (0.5, 300.0), (100.0, 4.0)])
def test_a_plan_that_cannot_end_is_foretold(rps: float, limit_s: float) -> None:
    found = forecast(SPEC, rps=rps, rates={}, limit_s=limit_s)
    assert math.isinf(found.seconds)
    assert "no verdict" in found.sentence


def test_more_errors_take_longer() -> None:
    times = [
        forecast(SPEC, rps=100, rates={"errors": rate}, limit_s=600).seconds for rate in (0.0, 0.01, 0.05)
    ]
    assert times == sorted(times)
    assert times[0] < times[2]


def test_the_simulation_is_seeded_and_compares_every_judge() -> None:
    first = simulate(error_rate=0.01, harm=0.02, rollouts=300, seed=7)
    assert first == simulate(error_rate=0.01, harm=0.02, rollouts=300, seed=7)
    assert [row.judge for row in first.judges] == [OURS, *PEERS]
    ours = first.judges[0]
    assert ours.false_alarms <= 0.05
    assert ours.median_looks is not None
    assert ours.median_looks <= 5
    assert {row.judge: row for row in first.judges}["z-test at every look"].false_alarms > 0.1
    json.dumps([row.median_looks for row in first.judges], allow_nan=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"error_rate": 1.5},
        {"error_rate": 0.9, "harm": 0.2},
        {"rollouts": 0},
        {"rollouts": 10**6, "looks": 10},
    ],
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        simulate(**({"error_rate": 0.01, "harm": 0.02} | wrong))


def test_mann_whitney_agrees_with_a_known_value() -> None:
    """Five pairs without ties, every canary window above every stable one: U = 25, z = 2.61."""
    stable, canary = np.arange(5.0)[None], np.arange(5.0, 10.0)[None]
    flags = PEERS["Kayenta's Mann-Whitney"](stable, canary, 200)
    assert flags[0].tolist() == [False] * 4 + [True]
    assert not PEERS["Kayenta's Mann-Whitney"](canary, stable, 200).any()
