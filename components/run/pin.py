"""Pins what a run depends on by a name that can move."""

from __future__ import annotations

from goldenpath import registry
from goldenpath.registry import Pins
from goldenpath.steps import component, current_step


@component(name="run.pin")
def pin(
    *, model: str, datasets: dict[str, str], source: str = "", service: str = "", if_changed: bool = False
) -> Pins:
    """Pins the champion, and tells whether this run would only repeat the last one.

    Args:
        model: The registered model's name.
        datasets: The dataset versions of this run by name.
        source: The snapshot of the working tree.
        service: The service that the model is promoted to; its champion is the one pinned.
        if_changed: Whether to compare code, data, configuration and image with those of the last run
            that ended promoted, refused or rolled back.

    Returns:
        The champion at this moment, its epoch, and whether nothing changed since which run.
    """
    step = current_step()
    return registry.pin(
        model,
        service=service,
        datasets=datasets,
        source=source,
        run=step.run.record(),
        journal=step.run.journal,
        if_changed=if_changed,
    )
