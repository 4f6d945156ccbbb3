from __future__ import annotations

import itertools

import pytest

from goldenpath.serving.rollout.machine import ENDS, Event, Phase, State, next_state

S = State


@pytest.mark.parametrize(
    ("state", "event", "steps", "after"),
    [
        (S(Phase.DEPLOY), Event.READY, 2, S(Phase.STEP, 0)),
        (S(Phase.DEPLOY), Event.READY, 0, S(Phase.PROMOTE)),
        (S(Phase.DEPLOY), Event.FAILED, 2, S(Phase.ROLL_BACK)),
        (S(Phase.DEPLOY), Event.NO_EVIDENCE, 2, S(Phase.PAUSE)),
        (S(Phase.DEPLOY), Event.ABORTED, 2, S(Phase.ROLL_BACK)),
        (S(Phase.STEP, 0), Event.PASSED, 2, S(Phase.STEP, 1)),
        (S(Phase.STEP, 1), Event.PASSED, 2, S(Phase.PROMOTE)),
        (S(Phase.STEP, 0), Event.FAILED, 2, S(Phase.ROLL_BACK)),
        (S(Phase.STEP, 1), Event.NO_EVIDENCE, 2, S(Phase.PAUSE)),
        (S(Phase.STEP, 1), Event.ABORTED, 2, S(Phase.ROLL_BACK)),
        (S(Phase.PROMOTE), Event.DONE, 2, S(Phase.PROMOTED)),
        (S(Phase.PROMOTE), Event.STALE, 2, S(Phase.ROLL_BACK)),
        (S(Phase.PROMOTE), Event.ABORTED, 2, S(Phase.ROLL_BACK)),
        (S(Phase.ROLL_BACK), Event.DONE, 2, S(Phase.ROLLED_BACK)),
        (S(Phase.PAUSE), Event.DONE, 2, S(Phase.PAUSED)),
    ],
)
def test_each_event_leads_to_one_state(state: State, event: Event, steps: int, after: State) -> None:
    assert next_state(state, event, steps=steps) == after


def test_nothing_follows_an_end() -> None:
    for phase, event in itertools.product(ENDS, Event):
        with pytest.raises(ValueError, match="cannot follow"):
            next_state(State(phase), event, steps=1)


def test_only_a_passed_last_step_or_a_ready_first_model_promotes() -> None:
    ways = []
    for phase, event, step in itertools.product(set(Phase) - ENDS, Event, (0, 1)):
        try:
            after = next_state(State(phase, step), event, steps=2)
        except ValueError:
            continue
        if after.phase is Phase.PROMOTE:
            ways.append((phase, step, event))
    assert ways == [(Phase.STEP, 1, Event.PASSED)]
