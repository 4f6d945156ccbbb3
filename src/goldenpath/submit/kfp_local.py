"""The engine ``kfp-local``: the KFP pipeline on this machine, each task a process of ``kfp.local``."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from goldenpath import progress
from goldenpath.errors import GoldenPathError, recorded
from goldenpath.steps import RunContext
from goldenpath.steps.context import STEP_VARIABLE
from goldenpath.submit.pathfile import LoadedPath

_SHOWN_LINES = 20
_TASK = re.compile(r"Executing task \S*?'([^']+)'")


def execute(path: LoadedPath, context: RunContext, *, if_changed: bool) -> None:
    """Runs the path's KFP pipeline; its tasks find ``context`` in their environment.

    Raises:
        GoldenPathError: A task failed: the error that its step recorded, where there is one.
    """
    from kfp import local

    pipeline = path.module("kfp").build(path.resolved)
    folder = context.settings.state_dir / "runs" / context.run / "kfp"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.txt"
    known = context.journal.failures(context.run).keys()
    local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(folder / "root"))
    progress.note(f"The tasks' log is {log}.")
    with _variables(context.environment()), _kept(log, _steps(pipeline)), warnings.catch_warnings():
        # It takes an image without "python" in its name for a mistake; no image is used here.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            pipeline(if_changed=if_changed)
        except RuntimeError as error:
            raise _told(context, set(known), log) from error


def _told(context: RunContext, known: set[str], log: Path) -> GoldenPathError:
    """The error that the failed step recorded; kfp.local itself knows only that a task failed."""
    new = [record for key, record in context.journal.failures(context.run).items() if key not in known]
    if new:
        return recorded(new[-1].type, new[-1].code, new[-1].message)
    lines = log.read_text(encoding="utf-8").splitlines()[-_SHOWN_LINES:]
    return GoldenPathError(f"A task of the pipeline failed. The end of {log}:\n" + "\n".join(lines))


def _steps(pipeline: Any) -> dict[str, str]:
    """The steps by the names that KFP gave their tasks."""
    executors = pipeline.pipeline_spec.deployment_spec["executors"]
    return {
        name.removeprefix("exec-"): variable["value"]
        for name, executor in executors.items()
        for variable in executor["container"]["env"]
        if variable["name"] == STEP_VARIABLE
    }


@contextlib.contextmanager
def _variables(values: dict[str, str]) -> Iterator[None]:
    """Sets variables of this process, which the tasks' processes inherit, for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Log:
    """Standard output as a file; each task that begins is told."""

    def __init__(self, file: TextIO, steps: dict[str, str]) -> None:
        self.file = file
        self.steps = steps

    def write(self, text: str) -> int:
        """Writes a piece of a line, or more."""
        if (found := _TASK.search(text)) is not None:
            progress.note(f"{self.steps.get(found[1], found[1])}: a task of kfp.local")
        self.file.flush()
        return self.file.write(text)

    def flush(self) -> None:
        """Writes what is buffered."""
        self.file.flush()


@contextlib.contextmanager
def _kept(log: Path, steps: dict[str, str]) -> Iterator[None]:
    """What kfp.local prints goes to a file, so that a command's standard output stays its result."""
    with log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(_Log(file, steps)):
        yield
