from dataclasses import astuple

import pytest

from goldenpath.jobs import StartRecord
from goldenpath.training.goodput import Goodput, Measured, goodput


def test_a_start_without_trouble_is_productive_but_for_its_overhead() -> None:
    found = goodput(
        [StartRecord(attempt="a", started_at=100.0, finished_at=200.0)],
        {"a": Measured(entered_at=104.0, fetching_s=6.0, saving_s=3.0, loading_s=2.0)},
        {"a": 150.0},
        queued_s=30.0,
    )
    assert (found.waiting_s, found.saving_s, found.loading_s, found.lost_s) == (40.0, 3.0, 2.0, 0.0)
    assert found.productive_s == 85.0


def test_a_failed_start_loses_what_came_after_its_last_checkpoint() -> None:
    starts = [
        StartRecord(attempt="a", started_at=0.0, finished_at=100.0),
        StartRecord(attempt="b", started_at=100.0, finished_at=150.0),
    ]
    found = goodput(starts, {}, {"a": 70.0}, queued_s=0.0)
    assert found.lost_s == 30.0
    assert found.productive_s == 70.0 + 50.0


def test_a_failed_start_without_a_checkpoint_is_lost_whole() -> None:
    starts = [
        StartRecord(attempt="a", started_at=0.0, finished_at=100.0),
        StartRecord(attempt="b", started_at=100.0, finished_at=150.0),
    ]
    told = {"a": Measured(entered_at=10.0, fetching_s=0.0, saving_s=0.0, loading_s=0.0)}
    found = goodput(starts, told, {}, queued_s=0.0)
    assert (found.waiting_s, found.lost_s, found.productive_s) == (10.0, 90.0, 50.0)


@pytest.mark.parametrize("saved_at", [{}, {"a": 40.0}, {"a": 500.0}])
def test_the_parts_make_up_the_whole_time(saved_at: dict[str, float]) -> None:
    starts = [
        StartRecord(attempt="a", started_at=0.0, finished_at=80.0),
        StartRecord(attempt="b", started_at=90.0, finished_at=120.0),
    ]
    told = {"a": Measured(entered_at=5.0, fetching_s=5.0, saving_s=7.0, loading_s=1.0)}
    found = goodput(starts, told, saved_at, queued_s=11.0)
    assert sum(astuple(found)) == pytest.approx(11.0 + 80.0 + 30.0)
    assert min(astuple(found)) >= 0


def test_the_share_is_what_was_productive_of_all_time() -> None:
    found = Goodput(productive_s=60, saving_s=5, loading_s=5, lost_s=10, waiting_s=20)
    assert (found.running_s, found.share) == (80, 0.6)
    assert Goodput(productive_s=0, saving_s=0, loading_s=0, lost_s=0, waiting_s=0).share == 0
