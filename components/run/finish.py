"""Records how a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from goldenpath.provenance import Outcome, OutcomeRecord
from goldenpath.steps import component, current_step


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How the run ended."""

    outcome: str


@component(name="run.finish")
def finish(*, outcome: Outcome, reason: str = "", same_as: str = "") -> Finished:
    """Records a run's outcome; the last step of every path.

    Args:
        outcome: How the path ended.
        reason: Why, in a sentence.
        same_as: For 'unchanged': the run that had answered already.

    Returns:
        The outcome on record: the first one stays.
    """
    step = current_step()
    record = OutcomeRecord(
        run=step.run.run, outcome=outcome, reason=reason, same_as=same_as, finished_at=datetime.now(UTC)
    )
    return Finished(outcome=step.run.journal.finish(record).outcome.value)
