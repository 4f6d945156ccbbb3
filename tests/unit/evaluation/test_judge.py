"""The judge: each rule's three ways, what is missing, and how often equals are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from goldenpath.errors import ConfigError
from goldenpath.evaluation import EvaluationData, GatePolicy, Judgement, Verdict, from_table, judge
from goldenpath.validation import validated


def policy(*rules: dict[str, Any], **fields: Any) -> GatePolicy:
    return validated(GatePolicy, {"rules": list(rules), **fields}, where="policy.yaml")


def data(right: Any, *, slices: dict[str, Any] | None = None, **fields: Any) -> EvaluationData:
    """Rows of two classes, right where asked for."""
    right = np.asarray(right, dtype=bool)
    label = np.arange(len(right)) % 2
    table = {"id": np.arange(len(right)), "label": label, "prediction": np.where(right, label, 1 - label)}
    table |= {f"slice_{name}": values for name, values in (slices or {}).items()}
    return EvaluationData(rows=from_table(pa.table(table), where="rows"), **fields)


def first(n: int, wrong: int) -> np.ndarray:
    """All right but the first few."""
    return np.arange(n) >= wrong


def verdicts(judgement: Judgement) -> list[str]:
    return [rule.verdict.value for rule in judgement.rules]


def test_the_default_policy_asks_for_no_regression_in_accuracy() -> None:
    found = judge(GatePolicy(), data(first(2000, 100)), data(first(2000, 120)))
    assert found.verdict is Verdict.PASSED
    assert [rule.metric for rule in found.rules] == ["accuracy"]
    assert found.rules[0].delta == pytest.approx(0.01)
    assert found.rules[0].method.startswith("McNemar")
    assert found.summary == found.rules[0].sentence


def test_the_default_metric_of_numbers_is_the_mean_absolute_error_with_a_relative_margin() -> None:
    label = np.linspace(0, 1000, 400)
    table = {"id": np.arange(400), "label": label}
    mine = from_table(pa.table({**table, "prediction": label + 10.05}), where="rows")
    other = from_table(pa.table({**table, "prediction": label + 10.0}), where="rows")
    found = judge(GatePolicy(), EvaluationData(rows=mine), EvaluationData(rows=other))
    assert found.rules[0].metric == "mae"
    assert found.rules[0].margin == pytest.approx(0.1)
    assert found.verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("n", "candidate", "champion", "verdict"),
    [
        (2000, 100, 100, "passed"),
        (2000, 300, 100, "refused"),
        (2000, 118, 100, "no_evidence"),
        (100, 5, 5, "no_evidence"),
        (49, 0, 0, "no_evidence"),
    ],
)
def test_no_regression_is_three_way(n: int, candidate: int, champion: int, verdict: str) -> None:
    found = judge(policy({"kind": "no_regression"}), data(first(n, candidate)), data(first(n, champion)))
    assert found.verdict.value == verdict


def test_no_evidence_tells_the_rows_that_would_decide() -> None:
    found = judge(GatePolicy(), data(first(100, 5)), data(first(100, 5))).rules[0]
    assert found.needed is not None
    assert 650 < found.needed <= 700
    assert "these rows do not decide. About 700 rows would." in found.sentence
    few = judge(GatePolicy(), data(first(20, 0)), data(first(20, 0))).rules[0]
    assert few.sentence == "There are 20 rows; a comparison needs 50."


def test_without_a_champion_floors_alone_decide_and_the_verdict_says_so() -> None:
    rules = policy({"kind": "floor", "metric": "accuracy", "at_least": 0.9}, {"kind": "no_regression"})
    found = judge(rules, data(first(100, 5)), None)
    assert found.verdict is Verdict.PASSED
    assert "There is no champion" in found.summary
    assert verdicts(found) == ["passed", "not_judged"]
    assert judge(rules, data(first(100, 50)), None).verdict is Verdict.REFUSED


def test_without_a_champion_and_a_floor_nothing_passes() -> None:
    found = judge(GatePolicy(), data(first(1000, 0)), None)
    assert found.verdict is Verdict.NO_EVIDENCE
    assert "no floor" in found.summary


@pytest.mark.parametrize(
    ("rule", "metrics", "verdict"),
    [
        ({"kind": "floor", "metric": "bleu", "at_least": 20}, {"bleu": 20.0}, "passed"),
        ({"kind": "floor", "metric": "bleu", "at_least": 20}, {"bleu": 19.9}, "refused"),
        ({"kind": "floor", "metric": "bleu", "at_least": 20}, {"rouge": 99.0}, "no_evidence"),
        ({"kind": "floor", "metric": "bleu", "at_least": 20}, {"bleu": float("nan")}, "no_evidence"),
        ({"kind": "ceiling", "metric": "latency_ms", "at_most": 50}, {"latency_ms": 50.0}, "passed"),
        ({"kind": "ceiling", "metric": "latency_ms", "at_most": 50}, {"latency_ms": 50.1}, "refused"),
        ({"kind": "ceiling", "metric": "latency_ms", "at_most": 50}, {}, "no_evidence"),
        (
            {"kind": "ceiling", "metric": "latency_ms", "at_most": 50},
            {"latency_ms": float("-inf")},
            "no_evidence",
        ),
        ({"kind": "growth", "metric": "model_bytes", "at_most_times": 1.5}, {"model_bytes": 150.0}, "passed"),
        (
            {"kind": "growth", "metric": "model_bytes", "at_most_times": 1.5},
            {"model_bytes": 151.0},
            "refused",
        ),
        ({"kind": "growth", "metric": "model_bytes", "at_most_times": 1.5}, {}, "no_evidence"),
        ({"kind": "growth", "metric": "zero", "at_most_times": 1.5}, {"zero": 1.0}, "no_evidence"),
    ],
)
def test_values_are_compared_with_limits(
    rule: dict[str, Any], metrics: dict[str, float], verdict: str
) -> None:
    champion = EvaluationData(metrics={"model_bytes": 100.0, "zero": 0.0})
    found = judge(policy(rule), EvaluationData(metrics=metrics), champion)
    assert found.verdict.value == verdict


def test_an_absent_metric_is_told_with_those_there_are() -> None:
    rule = {"kind": "floor", "metric": "bleu", "at_least": 20}
    found = judge(policy(rule), data(first(100, 5), metrics={"rouge": 1.0}), None)
    assert "has no bleu; it has accuracy, macro_f1, rouge." in found.summary


def test_what_the_rows_decide_is_not_taken_from_what_was_said() -> None:
    rule = policy({"kind": "floor", "metric": "accuracy", "at_least": 0.9})
    found = judge(rule, data(first(100, 50), metrics={"accuracy": 0.99}), None)
    assert found.verdict is Verdict.REFUSED
    assert found.rules[0].candidate == 0.5


def test_rows_that_do_not_pair_are_refused_whatever_the_rules_say() -> None:
    rules = policy({"kind": "floor", "metric": "accuracy", "at_least": 0.1}, {"kind": "no_regression"})
    found = judge(rules, data(first(100, 0)), data(first(99, 0)))
    assert found.verdict is Verdict.REFUSED
    assert verdicts(found) == ["refused", "passed", "no_evidence"]
    assert "1 ids are in the candidate's rows alone (99)" in found.summary


def test_evaluations_of_two_datasets_are_refused() -> None:
    mine, other = data(first(100, 0), dataset="a:1"), data(first(100, 0), dataset="a:2")
    found = judge(GatePolicy(), mine, other)
    assert found.verdict is Verdict.REFUSED
    assert "on a:1, the champion on a:2" in found.summary


def test_a_comparison_without_rows_has_no_evidence() -> None:
    found = judge(GatePolicy(), EvaluationData(metrics={"accuracy": 1.0}), EvaluationData())
    assert found.verdict is Verdict.NO_EVIDENCE
    assert "returned no rows" in found.summary


SLICE = np.repeat(np.array(["big", "mid", "few"]), [1000, 500, 20])


def test_a_bad_slice_is_refused_though_the_whole_passes() -> None:
    bad = np.ones(1520, dtype=bool)
    bad[1000:1060] = False
    mine, other = data(bad, slices={"s": SLICE}), data(np.ones(1520), slices={"s": SLICE})
    rules = policy({"kind": "no_regression", "margin": 0.1}, {"kind": "slices"})
    found = judge(rules, mine, other)
    assert found.verdict is Verdict.REFUSED
    by_slice = {rule.slice: rule for rule in found.rules if rule.slice}
    assert by_slice["s=mid"].verdict is Verdict.REFUSED
    assert by_slice["s=mid"].n == 500
    assert by_slice["s=big"].verdict is Verdict.PASSED
    assert found.rules[-1].sentence == "1 of 3 slices have under 100 rows and were not judged."


@pytest.mark.parametrize(
    ("rule", "slices", "message"),
    [
        ({}, {}, "The rows have no column 'slice_…'."),
        ({"columns": ["country"]}, {"s": SLICE}, "no column 'slice_country'; it has s."),
        ({"min_rows": 2000}, {"s": SLICE}, "None of the 3 slices has the 2,000 rows"),
    ],
)
def test_slices_that_cannot_be_judged_are_no_evidence(
    rule: dict[str, Any], slices: dict[str, Any], message: str
) -> None:
    mine = data(np.ones(1520), slices=slices)
    found = judge(policy({"kind": "slices", **rule}), mine, mine)
    assert found.verdict is Verdict.NO_EVIDENCE
    assert message in found.summary


def test_a_slice_of_one_class_has_no_auc_and_does_not_pass() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 1], 200)
    score = np.clip(label * 0.5 + rng.random(600) * 0.5, 0, 1)
    table = {"id": np.arange(600), "label": label, "prediction": label, "score": score}
    table["slice_s"] = np.where(np.arange(600) < 400, "both", "one")
    mine = EvaluationData(rows=from_table(pa.table(table), where="rows"))
    found = judge(policy({"kind": "slices", "metric": "roc_auc"}), mine, mine)
    assert {rule.slice: rule.verdict.value for rule in found.rules} == {
        "s=both": "passed",
        "s=one": "no_evidence",
    }


def test_calibration_is_compared() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1000)
    honest = np.where(rng.random(1000) < 0.8, label, 1 - label)
    table = {"id": np.arange(1000), "label": label, "prediction": honest}
    mine = from_table(pa.table({**table, "score": np.where(honest == 1, 0.99, 0.01)}), where="rows")
    other = from_table(pa.table({**table, "score": np.where(honest == 1, 0.8, 0.2)}), where="rows")
    found = judge(policy({"kind": "calibration"}), EvaluationData(rows=mine), EvaluationData(rows=other))
    assert found.verdict is Verdict.REFUSED
    back = judge(policy({"kind": "calibration"}), EvaluationData(rows=other), EvaluationData(rows=mine))
    assert back.verdict is Verdict.PASSED


OLD = {"inputs": {"age": "long", "name": "string"}, "outputs": {"0": "long"}}
NEW = {"inputs": {"age": "double", "city": "string"}, "outputs": {"0": "long"}}


@pytest.mark.parametrize(
    ("signature", "approved", "verdict", "message"),
    [
        (OLD, [], "passed", "are those of the champion"),
        (NEW, [], "refused", "inputs.age was long and is double; inputs.city (string) is new; inputs.name"),
        (NEW, ["inputs.age", "inputs.city"], "refused", "inputs.name (string) is gone"),
        (NEW, ["inputs.age", "inputs.city", "inputs.name"], "passed", "The changes were approved"),
        (None, [], "no_evidence", "The candidate's model records no inputs"),
    ],
)
def test_a_changed_schema_needs_approval_by_name(
    signature: Any, approved: list[str], verdict: str, message: str
) -> None:
    rule = {"kind": "schema", "approved": approved}
    found = judge(policy(rule), EvaluationData(signature=signature), EvaluationData(signature=OLD))
    assert found.verdict.value == verdict
    assert message in found.summary


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([{"kind": "no_regression", "metric": "acuracy"}], "did you mean 'accuracy'"),
        ([{"kind": "no_regression", "metric": "bleu"}], "they are auto, accuracy"),
        ([{"kind": "no_regresion"}], "no_regresion"),
        ([{"kind": "floor", "metric": "accuracy"}], "at_least' is missing"),
        ([{"kind": "floor", "metric": "accuracy", "at_least": float("nan")}], "finite"),
        ([{"kind": "floor", "metric": "accuracy", "at_least": 0.9, "margin": 1}], "margin' is unknown"),
        ([{"kind": "no_regression", "margin": -0.1}], "greater than or equal to 0"),
        ([], "at least 1"),
    ],
)
def test_a_wrong_policy_is_refused_before_anything_runs(rules: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        policy(*rules)


@pytest.mark.parametrize("confidence", [0.5, 1.0, 95])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ConfigError, match="confidence"):
        policy({"kind": "no_regression"}, confidence=confidence)


def test_equal_models_are_refused_at_most_at_the_stated_rate() -> None:
    # 2,000 pairs of equally good models whose errors are independent, on 400 rows, at a margin of 0.
    rng = np.random.default_rng(11)
    rules = policy({"kind": "no_regression", "margin": 0})
    refused = 0
    for _ in range(2000):
        mine, other = rng.random((2, 400)) < 0.9
        refused += judge(rules, data(mine), data(other)).verdict is Verdict.REFUSED
    # At a rate of 5 %, over 120 of 2,000 have a chance of 2 %.
    assert 0 < refused <= 120


def test_many_slices_refuse_an_equal_model_no_more_often_than_one_would() -> None:
    rng = np.random.default_rng(12)
    rules = policy({"kind": "slices", "margin": 0})
    slices = {"s": np.arange(2000) % 10}
    refused = 0
    for _ in range(200):
        mine, other = rng.random((2, 2000)) < 0.9
        verdict = judge(rules, data(mine, slices=slices), data(other, slices=slices)).verdict
        refused += verdict is Verdict.REFUSED
    # Without the correction, 10 slices would refuse about 80 of 200.
    assert refused <= 18


def test_a_harm_at_the_margin_passes_at_most_at_the_stated_rate() -> None:
    rng = np.random.default_rng(13)
    passed = 0
    for _ in range(1000):
        other = rng.random(1000) < 0.9
        mine = other & ~(rng.random(1000) < 0.05 / 0.9)
        passed += judge(
            policy({"kind": "no_regression", "margin": 0.05}), data(mine), data(other)
        ).verdict is (Verdict.PASSED)
    # At a rate of 5 %, over 66 of 1,000 have a chance of 1 %.
    assert 0 < passed <= 66


def test_the_same_evidence_gives_the_same_judgement() -> None:
    rng = np.random.default_rng(0)
    right = rng.random((2, 500)) < 0.9
    rules = policy({"kind": "no_regression", "metric": "macro_f1"})
    assert judge(rules, data(right[0]), data(right[1])) == judge(rules, data(right[0]), data(right[1]))
