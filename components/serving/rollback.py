"""Takes the last promotion of a service back."""

from __future__ import annotations

from pathlib import Path

from goldenpath import serving
from goldenpath.serving import PromotionResult
from goldenpath.steps import component, current_step


@component(name="serving.rollback")
def rollback(*, service: str, reason: str) -> PromotionResult:
    """Gives all traffic back to the previous champion.

    Args:
        service: The service's name.
        reason: Why; it is kept in the rollout's record.

    Returns:
        The rollout's record and the champion that serves now.
    """
    step = current_step()
    settings = step.run.settings
    return serving.rollback(
        service,
        reason=reason,
        run=step.run.run,
        store=step.store,
        state_dir=settings.state_dir,
        tracking=settings.tracking,
        trusted_key=Path(settings.trusted_key) if settings.trusted_key else None,
    )
