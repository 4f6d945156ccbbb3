"""The engine ``local``: the path's recipe in this process."""

from __future__ import annotations

from goldenpath.steps import RunContext
from goldenpath.submit.pathfile import LoadedPath


def execute(path: LoadedPath, context: RunContext, *, if_changed: bool) -> None:  # noqa: ARG001
    """Runs the recipe; its components find ``context`` as the current run."""
    path.module("recipe").run(path.resolved, if_changed=if_changed)
