"""What a snapshot takes and leaves out."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

ALWAYS_EXCLUDED = (".goldenpath",)
"""The project's own state, with the local store in it: a snapshot of it would grow for ever."""

CODE_EXCLUDED = (
    ".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", "*.pyc", ".ipynb_checkpoints",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".DS_Store",
)  # fmt: skip
"""What no run of a source tree needs."""


class SnapshotOptions(BaseModel):
    """What a snapshot leaves out. ``.goldenpath`` is left out always."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: Literal["data", "code"] = "data"
    """``data`` takes everything. ``code`` is for a source tree: it leaves out version control, virtual
    environments and caches, and, inside a Git work tree, whatever Git ignores."""
    exclude: tuple[str, ...] = ()
    """Patterns of what to leave out too. One without '/' is for a file's or folder's name at any depth
    (``*.tmp``); one with '/' is for the whole path (``raw/*.csv``, ``**/cache/``): ``*`` and ``?`` stay
    inside a name, ``**`` goes over any depth."""

    @field_validator("exclude")
    @classmethod
    def _patterns_are_relative(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if not pattern.strip("/") or pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(f"the pattern {pattern!r} is empty, absolute or climbs with '..'")
        return patterns

    @property
    def excluded(self) -> tuple[str, ...]:
        """Every pattern that holds."""
        return ALWAYS_EXCLUDED + (CODE_EXCLUDED if self.preset == "code" else ()) + self.exclude
