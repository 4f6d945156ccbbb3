"""Gives a published model its number in the registry."""

from __future__ import annotations

from pathlib import Path

from goldenpath import registry
from goldenpath.registry import Registered
from goldenpath.steps import component, current_step


@component(name="registry.register")
def register(*, model: str, name: str, evaluation: str, gate: str, override: str = "") -> Registered:
    """Registers a model by its digest, with all that it came from.

    Nothing is copied: one create-only write gives the published files their number, and MLflow gets
    a mirror of it. Run again, it finds its own version.

    Args:
        model: The published model's reference, by digest.
        name: The registered name.
        evaluation: The document of its evaluation.
        gate: The document of the gate's verdict; an unpassed one is refused.
        override: The reason for registering in spite of the gate; kept for ever.

    Returns:
        The model's reference with number and digest, and MLflow's version of it.
    """
    step = current_step()
    evidence = registry.Evidence(
        evaluation=evaluation,
        gate=gate,
        override=override,
        run=step.run.run,
        code=step.run.code,
        image=step.run.image,
        config_digest=step.run.config_digest,
    )
    settings = step.run.settings
    return registry.register(
        model,
        name,
        evidence=evidence,
        store=step.store,
        tracking=settings.tracking,
        signing_key=Path(settings.signing_key) if settings.signing_key else None,
    )
