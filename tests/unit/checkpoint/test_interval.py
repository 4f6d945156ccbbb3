from __future__ import annotations

import math

import pytest

from goldenpath.checkpoint.interval import advised_interval, interval
from goldenpath.errors import InputError


def test_the_interval_is_near_youngs_where_saves_are_cheap() -> None:
    assert interval(save_s=1, mtbf_s=10_000) == pytest.approx(math.sqrt(2 * 10_000), rel=0.01)


def test_the_interval_loses_less_time_than_its_neighbours() -> None:
    # Daly's model of the run time (equation 20, no restart cost): M e^(R/M)(e^((t+d)/M) - 1) / t.
    save, mtbf = 60.0, 3600.0

    def cost(training: float) -> float:
        return mtbf * math.expm1((training + save) / mtbf) / training

    best = interval(save_s=save, mtbf_s=mtbf)
    assert cost(best) < cost(best * 0.9)
    assert cost(best) < cost(best * 1.1)


def test_saves_dearer_than_the_time_between_failures_leave_that_time() -> None:
    assert interval(save_s=300, mtbf_s=100) == 100


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_an_interval_needs_positive_numbers(wrong: float) -> None:
    with pytest.raises(InputError, match="save_s"):
        interval(save_s=wrong, mtbf_s=10)


def test_the_advice_is_by_the_mean_time_between_interruptions() -> None:
    assert advised_interval(save_s=2, running_s=160, failures=2) == interval(save_s=2, mtbf_s=80)


@pytest.mark.parametrize(("save_s", "running_s", "failures"), [(2.0, 60.0, 0), (0.0, 60.0, 3), (2.0, 0.0, 1)])
def test_nothing_is_advised_without_evidence(save_s: float, running_s: float, failures: int) -> None:
    assert advised_interval(save_s=save_s, running_s=running_s, failures=failures) is None
