"""What a start's end means, and whether the program is started again: pure decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from goldenpath.jobs.starts import StartState


class Verdict(StrEnum):
    """How one start of a local job ended."""

    SUCCEEDED = "succeeded"
    NO_OUTPUT = "no output"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    STOPPED = "stopped"
    LOST = "lost"
    """Its supervisor is gone and told no end: killed, or the machine was restarted."""


MAX_LOST = 5
"""How many lost starts in one call are taken for bad luck."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What one call of the launcher has seen so far."""

    failed: int = 0
    lost: int = 0


def judge(state: StartState | None, *, missing: Sequence[str]) -> Verdict:
    """Says how a start ended whose supervisor lives no more.

    Args:
        state: What the supervisor told.
        missing: The outputs that the program had to write, and did not.
    """
    if state is None or state.ended is None:
        return Verdict.LOST
    if state.ended == "stopped":
        return Verdict.STOPPED
    if state.ended == "timeout":
        return Verdict.TIMED_OUT
    if state.exit_code != 0:
        return Verdict.FAILED
    return Verdict.NO_OUTPUT if missing else Verdict.SUCCEEDED


def starts_again(verdict: Verdict, tally: Tally, *, max_restarts: int) -> bool:
    """Whether the program is started again by the same call of the launcher.

    A failed program uses up its restarts; a lost start is nobody's fault and uses none.
    """
    if verdict is Verdict.FAILED:
        return tally.failed < max_restarts
    return verdict is Verdict.LOST and tally.lost < MAX_LOST
