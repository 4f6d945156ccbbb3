"""What KFP's UI shows beside a task: artifacts for people's eyes, never wired to another task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldenpath.steps.context import current_run


def show_metrics(metrics: dict[str, Any], artifact: Any) -> None:
    """Fills a ``dsl.Metrics`` artifact with the numbers of a component's metrics."""
    for name, value in metrics.items():
        if isinstance(value, int | float):
            artifact.log_metric(name, value)


def show_html(uri: str, path: str) -> None:
    """Copies a page from the run's store to where KFP's launcher takes the artifact from.

    Args:
        uri: The page's address in the store; nothing is shown where it is empty.
        path: The artifact's local path.
    """
    if uri:
        store = current_run().store
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(store.get(uri.removeprefix(store.uri(""))))
