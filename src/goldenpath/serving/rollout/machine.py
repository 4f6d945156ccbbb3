"""The states of a rollout, and what leads from one to the next. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What a rollout is doing. The last three are its ends."""

    DEPLOY = "deploy"
    """The canary starts in the dark, is waited for and warmed up."""
    STEP = "step"
    """The canary gets its share and is judged."""
    PROMOTE = "promote"
    """The alias moves, then all the requests."""
    ROLL_BACK = "roll_back"
    """All requests go to the stable arm again, and the canary ends."""
    PAUSE = "pause"
    """All requests go to the stable arm again; the canary stays, in the dark."""
    PROMOTED = "promoted"
    ROLLED_BACK = "rolled_back"
    PAUSED = "paused"


class Event(StrEnum):
    """What came of a phase."""

    READY = "ready"
    PASSED = "passed"
    FAILED = "failed"
    NO_EVIDENCE = "no_evidence"
    ABORTED = "aborted"
    """Somebody asked for the rollback, or the promoter died and another promotion began."""
    STALE = "stale"
    """Another model became champion."""
    DONE = "done"


ENDS = frozenset({Phase.PROMOTED, Phase.ROLLED_BACK, Phase.PAUSED})

_NEXT: dict[tuple[Phase, Event], Phase] = {
    (Phase.DEPLOY, Event.READY): Phase.STEP,
    (Phase.DEPLOY, Event.FAILED): Phase.ROLL_BACK,
    (Phase.DEPLOY, Event.NO_EVIDENCE): Phase.PAUSE,
    (Phase.DEPLOY, Event.ABORTED): Phase.ROLL_BACK,
    (Phase.STEP, Event.PASSED): Phase.STEP,
    (Phase.STEP, Event.FAILED): Phase.ROLL_BACK,
    (Phase.STEP, Event.NO_EVIDENCE): Phase.PAUSE,
    (Phase.STEP, Event.ABORTED): Phase.ROLL_BACK,
    (Phase.PROMOTE, Event.DONE): Phase.PROMOTED,
    (Phase.PROMOTE, Event.STALE): Phase.ROLL_BACK,
    (Phase.PROMOTE, Event.ABORTED): Phase.ROLL_BACK,
    (Phase.ROLL_BACK, Event.DONE): Phase.ROLLED_BACK,
    (Phase.PAUSE, Event.DONE): Phase.PAUSED,
}


@dataclass(frozen=True, slots=True)
class State:
    """Where a rollout is; ``step`` counts from 0 and matters in the phase STEP alone."""

    phase: Phase = Phase.DEPLOY
    step: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing follows."""
        return self.phase in ENDS


def next_state(state: State, event: Event, *, steps: int) -> State:
    """The state after an event.

    Args:
        state: The state that the event came in.
        event: What came of it.
        steps: How many judged steps the rollout has; 0 where there is nothing to compare with.

    Raises:
        ValueError: The event cannot come in this state.
    """
    phase = _NEXT.get((state.phase, event))
    if phase is None:
        raise ValueError(f"{event.value!r} cannot follow {state.phase.value!r}")
    if phase is not Phase.STEP:
        return State(phase)
    step = state.step + 1 if state.phase is Phase.STEP else 0
    return State(Phase.STEP, step) if step < steps else State(Phase.PROMOTE)
