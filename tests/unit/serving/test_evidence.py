from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldenpath.serving.judge.evidence import (
    HARM_RATIOS,
    SAFE_RATIOS,
    difference_bounds,
    log_evidence,
    projection,
)

THRESHOLD = math.log(1 / 0.05)


def streams(seed: int, stable: float, canary: float, *, looks: int = 30, n: int = 200, rollouts: int = 1000):
    random = np.random.default_rng(seed)
    every = np.full((rollouts, looks), float(n))
    bad = (random.binomial(n, rate, (rollouts, looks)).astype(float) for rate in (stable, canary))
    return *bad, every


@pytest.mark.parametrize(
    ("stable", "canary", "margin"),
    [
        (0.001, 0.001, 0.0),
        (0.01, 0.01, 0.0),
        (0.05, 0.05, 0.0),
        (0.3, 0.3, 0.0),
        (0.01, 0.03, 0.02),
        (0.2, 0.1, 0.0),
    ],
)
def test_false_failures_stay_under_alpha_at_the_worst_null(
    stable: float, canary: float, margin: float
) -> None:
    a, b, n = streams(1, stable, canary)
    crossed = (log_evidence(a, n, b, n, delta=margin, ratios=HARM_RATIOS) >= THRESHOLD).any(axis=1)
    assert crossed.mean() <= 0.05


@pytest.mark.parametrize(
    ("stable", "canary", "margin"), [(0.01, 0.03, 0.02), (0.0, 0.01, 0.01), (0.1, 0.15, 0.05)]
)
def test_false_passes_stay_under_alpha_at_the_margin(stable: float, canary: float, margin: float) -> None:
    a, b, n = streams(2, stable, canary)
    crossed = (log_evidence(b, n, a, n, delta=-margin, ratios=SAFE_RATIOS) >= THRESHOLD).any(axis=1)
    assert crossed.mean() <= 0.05


def test_rates_that_drift_together_are_no_harm() -> None:
    random = np.random.default_rng(3)
    rates = np.linspace(0.001, 0.2, 30)
    n = np.full((1000, 30), 200.0)
    a, b = (random.binomial(200, rates, (1000, 30)).astype(float) for _ in range(2))
    crossed = (log_evidence(a, n, b, n, delta=0.0, ratios=HARM_RATIOS) >= THRESHOLD).any(axis=1)
    assert crossed.mean() <= 0.05


def test_one_percent_to_three_is_found_at_a_median_of_five_looks_or_fewer() -> None:
    a, b, n = streams(4, 0.01, 0.03)
    crossed = log_evidence(a, n, b, n, delta=0.0, ratios=HARM_RATIOS) >= THRESHOLD
    assert crossed.any(axis=1).mean() > 0.95
    assert np.median(np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, 999)) <= 5


@given(
    rates=st.tuples(*[st.floats(0.001, 0.999)] * 2),
    counts=st.tuples(*[st.integers(1, 2000)] * 2),
    delta=st.floats(-0.9, 0.9),
)
@settings(max_examples=200, deadline=None)
def test_the_projection_has_the_highest_likelihood_on_the_null(
    rates: tuple[float, float], counts: tuple[int, int], delta: float
) -> None:
    (p, q), (n, m) = rates, counts

    def likelihood(base: np.ndarray) -> np.ndarray:
        other = base + delta
        return n * (p * np.log(base) + (1 - p) * np.log1p(-base)) + m * (
            q * np.log(other) + (1 - q) * np.log1p(-other)
        )

    base, other = projection(np.array(n * p), np.array(float(n)), np.array(m * q), np.array(float(m)), delta)
    assert other == pytest.approx(base + delta)
    grid = np.linspace(max(0.0, -delta) + 1e-7, min(1.0, 1 - delta) - 1e-7, 20_001)
    assert likelihood(base) >= likelihood(grid).max() - 1e-6 * (n + m)


@given(
    base=st.floats(0.001, 0.6),
    delta=st.floats(-0.3, 0.3),
    guess=st.tuples(*[st.integers(0, 50)] * 2),
    sizes=st.tuples(*[st.integers(1, 40)] * 2),
)
@settings(max_examples=100, deadline=None)
def test_a_block_pays_at_most_one_on_average_under_the_null(
    base: float, delta: float, guess: tuple[int, int], sizes: tuple[int, int]
) -> None:
    """The exact expectation over every outcome of the second block, the first one being given."""
    other = base + delta
    if not 0 < other < 1:
        return
    n, m = sizes
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(m + 1.0), indexing="ij")
    shape = x.shape

    def column(first: float, second: np.ndarray) -> np.ndarray:
        return np.stack((np.full(shape, first), second), axis=-1)

    log_e = log_evidence(
        column(guess[0], x),
        column(50.0, np.full(shape, float(n))),
        column(guess[1], y),
        column(50.0, np.full(shape, float(m))),
        delta=delta,
        ratios=HARM_RATIOS,
    )[..., -1]
    choose = [np.array([math.comb(k, i) for i in range(k + 1)], dtype=float) for k in (n, m)]
    weight_x = choose[0] * base ** np.arange(n + 1) * (1 - base) ** (n - np.arange(n + 1))
    weight_y = choose[1] * other ** np.arange(m + 1) * (1 - other) ** (m - np.arange(m + 1))
    assert (np.exp(log_e) * weight_x[:, None] * weight_y[None, :]).sum() <= 1 + 1e-6


def test_bounds_hold_the_truth_and_narrow() -> None:
    a, b, n = streams(5, 0.02, 0.05, rollouts=8)
    early = [
        difference_bounds(a[i, :5], n[i, :5], b[i, :5], n[i, :5], alpha_low=0.01, alpha_high=0.01)
        for i in range(8)
    ]
    late = [difference_bounds(a[i], n[i], b[i], n[i], alpha_low=0.01, alpha_high=0.01) for i in range(8)]
    assert sum(low <= 0.03 <= high for low, high in late) >= 7
    assert all(l1 <= l2 and h2 <= h1 for (l1, h1), (l2, h2) in zip(early, late, strict=True))


def test_nothing_is_known_before_the_second_block() -> None:
    one, n = np.array([3.0]), np.array([200.0])
    low, high = difference_bounds(one, n, one, n, alpha_low=0.05, alpha_high=0.05)
    assert (low, high) == pytest.approx((-1, 1), abs=1e-5)


def test_an_arm_without_requests_gives_no_evidence() -> None:
    zero, n, bad = np.zeros(10), np.full(10, 200.0), np.full(10, 2.0)
    for found in (
        log_evidence(bad, n, zero, zero, delta=0.0, ratios=HARM_RATIOS),
        log_evidence(zero, zero, bad, n, delta=-0.1, ratios=SAFE_RATIOS),
    ):
        assert found == pytest.approx(np.zeros(10), abs=1e-12)
