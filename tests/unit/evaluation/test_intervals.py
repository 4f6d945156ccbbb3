"""Intervals against known values, slow references and simulations."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pyarrow as pa
import pytest

from goldenpath.evaluation.intervals import estimate
from goldenpath.evaluation.intervals import resampling as resampling_module
from goldenpath.evaluation.intervals.delong import delong
from goldenpath.evaluation.intervals.estimate import Normal, PairedProportions, Replicates, rows_needed
from goldenpath.evaluation.intervals.resampling import resampled
from goldenpath.evaluation.metrics import METRICS
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import from_table


def binary_pairs(
    n: int,
    *,
    seed: int = 0,
    skill: tuple[float, float] = (1.0, 1.0),
    group: bool = False,
    weight: bool = False,
) -> Pairs:
    """Two models of a skill each, their errors correlated."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    shared = rng.normal(size=n)
    found = []
    for strength in skill:
        logit = (label * 2 - 1) * strength + shared + rng.normal(size=n) * 0.5
        score = 1 / (1 + np.exp(-logit))
        table = {"id": np.arange(n), "label": label, "prediction": (score > 0.5).astype(int), "score": score}
        if group:
            table["group"] = np.arange(n) // 4
        if weight:
            table["weight"] = np.linspace(0.5, 2, n)
        found.append(from_table(pa.table(table), where="rows"))
    return Pairs(candidate=found[0], champion=found[1])


def test_tango_at_zero_is_mcnemar() -> None:
    # Without the exact part, the score statistic at no difference is (b - c) / sqrt(b + c).
    pairs = PairedProportions(n=1000, worse=70, better=40)
    assert pairs._score(0.0) == pytest.approx(30 / sqrt(110))


@pytest.mark.parametrize("harm", [-0.2, -0.03, 0.01, 0.15])
@pytest.mark.parametrize(("worse", "better"), [(1, 0), (0, 3), (7, 5), (20, 2)])
def test_the_score_uses_the_likeliest_rates_at_a_harm(worse: int, better: int, harm: float) -> None:
    # The closed form beside a search over all rates q of 'better', with q + harm of 'worse'.
    n = 60
    q = np.linspace(max(0, -harm), (1 - harm) / 2, 400_001)[1:-1]
    likelihood = (
        worse * np.log(q + harm) + better * np.log(q) + (n - worse - better) * np.log(1 - 2 * q - harm)
    )
    best = q[likelihood.argmax()]
    expected = (worse - better - n * harm) / sqrt(n * (2 * best + harm - harm**2))
    assert PairedProportions(n=n, worse=worse, better=better)._score(harm) == pytest.approx(
        expected, rel=1e-2
    )


def test_few_discordant_rows_are_tested_exactly() -> None:
    # 3 of 3 discordant rows are worse: the binomial says 1/8, a normal approximation would say 0.042.
    assert PairedProportions(n=500, worse=3, better=0).p_over(0.0) == pytest.approx(1 / 8)
    tail = sum(comb(12, k) for k in range(9, 13)) / 2**12
    assert PairedProportions(n=500, worse=9, better=3).p_over(0.0) == pytest.approx(tail)


def test_two_models_that_never_differ_are_as_uncertain_as_the_rows_are_few() -> None:
    z = 1.6448536269514722
    for n in (30, 500, 10_000):
        found = PairedProportions(n=n, worse=0, better=0)
        assert found.upper(0.05) == pytest.approx(z**2 / (n + z**2), rel=1e-6)
        assert found.lower(0.05) == -found.upper(0.05)


def test_bounds_contain_the_harm_and_widen_with_confidence() -> None:
    for worse, better in [(0, 0), (5, 0), (0, 5), (30, 31), (500, 0), (20_000, 1)]:
        found = PairedProportions(n=20_001, worse=worse, better=better)
        assert (
            -1 <= found.lower(0.01) <= found.lower(0.1) <= found.harm <= found.upper(0.1) <= found.upper(0.01)
        )
        assert found.upper(0.01) <= 1


def test_a_bound_and_its_test_agree() -> None:
    normal = Normal(harm=0.02, error=0.01, method="")
    proportions = PairedProportions(n=900, worse=40, better=20)
    for found in (normal, proportions):
        assert found.p_over(found.lower(0.05)) == pytest.approx(0.05, rel=1e-6)


def test_delong_of_a_case_by_hand() -> None:
    # Placements of the positives among the negatives: candidate 1, 0.5; champion 1, 1.
    table = {"id": [1, 2, 3, 4], "label": [1, 1, 0, 0], "prediction": [1, 1, 0, 0]}
    mine = from_table(pa.table({**table, "score": [0.9, 0.5, 0.4, 0.6]}), where="c")
    other = from_table(pa.table({**table, "score": [0.9, 0.8, 0.2, 0.1]}), where="h")
    found = delong(Pairs(candidate=mine, champion=other))
    assert found.harm == pytest.approx(0.25)
    # Differences 0, 0.5 over positives and 0, 0.5 over negatives: variance 0.125 each.
    assert found.error == pytest.approx(sqrt(0.125 / 2 + 0.125 / 2))


def test_delong_agrees_with_a_bootstrap() -> None:
    pairs = binary_pairs(1500, skill=(0.9, 1.0))
    exact, slow = delong(pairs), resampled(METRICS["roc_auc"], pairs)
    assert isinstance(slow, Replicates)
    assert exact.harm == pytest.approx(slow.harm, abs=1e-12)
    assert exact.error == pytest.approx(slow.values.std(), rel=0.06)


def test_delong_counts_ties_by_half() -> None:
    pairs = binary_pairs(300)
    coarse = from_table(
        pa.table(
            {
                "id": np.arange(300),
                "label": pairs.candidate.label.codes,  # type: ignore[union-attr]  # classes, made above
                "prediction": np.zeros(300, dtype=int),
                "score": np.round(pairs.candidate.score, 1),  # type: ignore[arg-type]  # made above
            }
        ),
        where="coarse",
    )
    found = delong(Pairs(candidate=coarse, champion=coarse))
    assert found.harm == 0
    area = METRICS["roc_auc"].value(coarse)
    again = delong(Pairs(candidate=coarse, champion=pairs.champion))
    assert again.harm == pytest.approx(METRICS["roc_auc"].value(pairs.champion) - area)


@pytest.mark.parametrize(
    ("metric", "method"),
    [
        ("accuracy", "McNemar"),
        ("roc_auc", "DeLong"),
        ("log_loss", "normal interval of paired means"),
        ("macro_f1", "paired bootstrap"),
        ("calibration_error", "paired bootstrap"),
    ],
)
def test_each_metric_has_its_method(metric: str, method: str) -> None:
    found = estimate(METRICS[metric], binary_pairs(300))
    assert not isinstance(found, str)
    assert found.method.startswith(method)
    again = estimate(METRICS[metric], binary_pairs(300))
    assert not isinstance(again, str)
    assert (found.lower(0.05), found.upper(0.05)) == (again.lower(0.05), again.upper(0.05))


@pytest.mark.parametrize(
    ("metric", "kind", "method"),
    [
        ("accuracy", "group", "normal interval of paired means of groups"),
        ("accuracy", "weight", "normal interval of paired means"),
        ("roc_auc", "group", "paired bootstrap of groups, 2000 percentiles"),
        ("roc_auc", "weight", "paired bootstrap, 2000 percentiles"),
    ],
)
def test_groups_and_weights_have_methods_that_respect_them(metric: str, kind: str, method: str) -> None:
    found = estimate(METRICS[metric], binary_pairs(400, group=kind == "group", weight=kind == "weight"))
    assert not isinstance(found, str)
    assert found.method == method


def test_rows_of_a_group_are_one_piece_of_evidence() -> None:
    rng = np.random.default_rng(1)
    right = rng.random((2, 200)) < [[0.8], [0.8]]
    copied = {
        "id": np.arange(1600),
        "label": np.ones(1600, dtype=int),
        "group": np.repeat(np.arange(200), 8),
    }
    each = [
        from_table(pa.table({**copied, "prediction": np.repeat(values.astype(int), 8)}), where="rows")
        for values in right
    ]
    grouped = estimate(METRICS["accuracy"], Pairs(candidate=each[0], champion=each[1]))
    difference = right[1].astype(float) - right[0]
    assert isinstance(grouped, Normal)
    assert grouped.error == pytest.approx(difference.std(ddof=1) / sqrt(200), rel=1e-9)


def test_the_jackknife_agrees_with_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = binary_pairs(4000, skill=(0.9, 1.0))
    slow = resampled(METRICS["average_precision"], pairs)
    monkeypatch.setattr(resampling_module, "BOOTSTRAP_UP_TO", 100)
    quick = resampled(METRICS["average_precision"], pairs)
    assert isinstance(slow, Replicates)
    assert isinstance(quick, Normal)
    assert quick.harm == slow.harm
    assert quick.error == pytest.approx(slow.values.std(), rel=0.2)


def test_one_class_is_no_evidence_of_telling_classes_apart() -> None:
    table = {"id": np.arange(100), "label": [1] * 97 + [0] * 3, "prediction": [1] * 100, "score": [0.5] * 100}
    found = from_table(pa.table(table), where="rows")
    assert "one class has 3" in str(estimate(METRICS["roc_auc"], Pairs(candidate=found, champion=found)))
    alone = found.take(np.arange(97))
    assert "every label is 1" in str(estimate(METRICS["roc_auc"], Pairs(candidate=alone, champion=alone)))


@pytest.mark.parametrize("metric", ["roc_auc", "log_loss", "macro_f1", "average_precision"])
def test_equal_predictions_are_no_proof_on_few_rows(metric: str) -> None:
    pairs = binary_pairs(60)
    same = Pairs(candidate=pairs.candidate, champion=pairs.candidate)
    found = estimate(METRICS[metric], same)
    assert not isinstance(found, str)
    assert found.harm == 0
    assert found.upper(0.05) > 0.03


def test_the_rows_needed_are_enough() -> None:
    few = PairedProportions(n=1000, worse=30, better=30)
    needed = rows_needed(few, alpha=0.05, margin=0.005, n=1000)
    assert needed is not None
    times = needed / 1000
    more = PairedProportions(n=needed, worse=round(30 * times), better=round(30 * times))
    assert more.upper(0.05) <= 0.005 * 1.02
    assert few.upper(0.05) > 0.005
    assert rows_needed(few, alpha=0.05, margin=0.0, n=1000) is None


def test_a_constant_harm_is_certain() -> None:
    found = Normal(harm=0.1, error=0.0, method="")
    assert found.lower(0.05) == found.upper(0.05) == 0.1
    assert found.p_over(0.05) == 0.0
    assert found.p_over(0.2) == 1.0
