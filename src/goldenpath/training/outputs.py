"""The names of what a training program writes for its launcher."""

from __future__ import annotations

MODEL = "model"
"""``{"ref", "metrics", "attempt"}``: the published model."""


def measured(attempt: str) -> str:
    """``{"entered_at", "fetching_s", "saving_s", "loading_s"}``: what rank 0 measured of one start."""
    return f"measured-{attempt}"
