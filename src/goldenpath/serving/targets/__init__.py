"""Places where a service can run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from goldenpath.serving.plan import PromotionPlan
from goldenpath.serving.targets.base import PromoterAtWork, Revision, Split, Target
from goldenpath.serving.targets.local import LocalTarget
from goldenpath.serving.targets.servers import Fetch

__all__ = ["TARGETS", "Fetch", "LocalTarget", "PromoterAtWork", "Revision", "Split", "Target", "open_target"]

TARGETS: dict[str, Callable[[str, Path, PromotionPlan, Fetch], Target]] = {
    "local": lambda service, state_dir, plan, fetch: LocalTarget(
        service, state_dir=state_dir, fetch=fetch, port=plan.port
    ),
}
"""How each target of a plan is opened."""


def open_target(service: str, *, state_dir: Path, plan: PromotionPlan, fetch: Fetch) -> Target:
    """The place where a plan's service runs."""
    return TARGETS[plan.target](service, state_dir, plan, fetch)
