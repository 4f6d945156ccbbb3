"""Brings a registered model into service, judged by what it does there."""

from __future__ import annotations

from pathlib import Path

from goldenpath import serving
from goldenpath.serving import PromotionPlan, PromotionResult
from goldenpath.steps import component, current_step


@component(name="serving.promote")
def promote(
    *,
    model: str,
    service: str,
    plan: PromotionPlan = PromotionPlan(),
    expected_champion: str = "",
) -> PromotionResult:
    """Promotes a model step by step: dark, shadow, canary, judged at each step, else rolled back.

    Resumable at any point, one promoter a service at a time.

    Args:
        model: The registered model's reference.
        service: The service's name.
        plan: The target, the steps, the judge's metrics and margins.
        expected_champion: The champion that the model was judged against; if another took its place
            the promotion is refused. Empty where there was none.

    Returns:
        Promoted, rolled back or paused, with the reason, the rollout's record and the service's URL.
    """
    step = current_step()
    settings = step.run.settings
    return serving.promote(
        model,
        service,
        plan,
        expected_champion=expected_champion,
        run=step.run.run,
        store=step.store,
        state_dir=settings.state_dir,
        tracking=settings.tracking,
        trusted_key=Path(settings.trusted_key) if settings.trusted_key else None,
    )
