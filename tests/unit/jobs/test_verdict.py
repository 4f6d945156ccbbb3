import pytest

from goldenpath.jobs.starts import StartState
from goldenpath.jobs.verdict import MAX_LOST, Tally, Verdict, judge, starts_again


def _ended(how: str, code: int) -> StartState:
    return StartState(pid=1, started_at=0.0, finished_at=1.0, ended=how, exit_code=code)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "missing", "verdict"),
    [
        (None, [], Verdict.LOST),
        (StartState(pid=1, started_at=0.0), [], Verdict.LOST),
        (_ended("exited", 0), [], Verdict.SUCCEEDED),
        (_ended("exited", 0), ["model"], Verdict.NO_OUTPUT),
        (_ended("exited", 1), [], Verdict.FAILED),
        (_ended("exited", -9), ["model"], Verdict.FAILED),
        (_ended("timeout", 0), [], Verdict.TIMED_OUT),
        (_ended("stopped", 0), [], Verdict.STOPPED),
    ],
)
def test_how_a_start_ended(state: StartState | None, missing: list[str], verdict: Verdict) -> None:
    assert judge(state, missing=missing) is verdict


def test_a_failed_program_is_started_again_as_often_as_allowed() -> None:
    assert not starts_again(Verdict.FAILED, Tally(), max_restarts=0)
    assert starts_again(Verdict.FAILED, Tally(failed=1), max_restarts=2)
    assert not starts_again(Verdict.FAILED, Tally(failed=2), max_restarts=2)


def test_a_lost_start_uses_up_no_restart_but_luck_has_an_end() -> None:
    assert starts_again(Verdict.LOST, Tally(), max_restarts=0)
    assert not starts_again(Verdict.LOST, Tally(lost=MAX_LOST), max_restarts=9)


@pytest.mark.parametrize(
    "verdict", [Verdict.SUCCEEDED, Verdict.NO_OUTPUT, Verdict.TIMED_OUT, Verdict.STOPPED]
)
def test_nothing_else_is_started_again(verdict: Verdict) -> None:
    assert not starts_again(verdict, Tally(), max_restarts=9)
