from __future__ import annotations

import pytest

from goldenpath.errors import ConfigError
from goldenpath.serving import Latency, PromotionPlan
from goldenpath.serving.plan import exposures, judge_spec
from goldenpath.validation import validated


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"steps": [50, 20]}, "the steps must rise"),
        ({"steps": [100]}, "under 100"),
        ({"steps": [0]}, "over 0"),
        ({"steps": []}, "needs a step"),
        ({"metrics": []}, "at least 1"),
        ({"metrics": [{"kind": "latency", "over_ms": 250}]}, "not one of 1, 2, 5"),
        ({"metrics": [{"kind": "error_rate"}, {"kind": "error_rate"}]}, "given twice"),
        ({"metrics": [{"kind": "nonsense"}]}, "nonsense"),
        ({"alpha": 0.7}, "less than 0.5"),
        ({"bake_s": 300}, "no time before max_step_s"),
        ({"port": 70000}, "65535"),
        ({"traffic": {"rps": 0}}, "greater than 0"),
        ({"stepps": [5]}, "did you mean 'steps'"),
        ({"target": "moon"}, "local"),
    ],
)
def test_a_wrong_plan_is_refused_in_words(plan: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        validated(PromotionPlan, plan, where="plan")


def test_alpha_is_shared_out_over_the_steps() -> None:
    plan = PromotionPlan(steps=(10.0, 50.0), shadow=100 / 3, alpha=0.06)
    specs = [judge_spec(plan, step) for step in range(3)]
    assert [spec.alpha_fail for spec in specs] == pytest.approx([0.02] * 3)
    assert [spec.alpha_pass for spec in specs] == [0.06] * 3
    assert [spec.canary_share for spec in specs] == pytest.approx([0.25, 0.1, 0.5])
    assert [str(exposure) for exposure in exposures(plan)] == ["shadow 33.3333%", "10%", "50%"]


def test_a_metric_is_named_by_what_it_counts() -> None:
    spec = judge_spec(PromotionPlan(metrics=(Latency(over_ms=500),)), 0)
    assert [(metric.name, metric.burst) for metric in spec.metrics] == [("latency over 500 ms", False)]
