"""Where a job belongs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goldenpath.store import Store


@dataclass(frozen=True, kw_only=True)
class Place:
    """The run and step that a job belongs to, and the folders it may use."""

    run: str
    step: str
    store: Store
    work_dir: Path
    """A local folder of the step's own, kept between attempts."""
    cache_dir: Path
    """A local folder shared by all runs, for verified data."""
    tracking: str
    """The tracking server's URI."""
