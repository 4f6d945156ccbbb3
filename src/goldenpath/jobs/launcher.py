"""The launcher: runs a job on a backend, or adopts the one that an earlier attempt started."""

from __future__ import annotations

import difflib
import importlib
from typing import Protocol, cast

from goldenpath.errors import ConfigError, UserProgramFailed
from goldenpath.jobs.place import Place
from goldenpath.jobs.spec import JobResult, JobSpec

BACKENDS: dict[str, str] = {
    "local": "goldenpath.jobs.local",
}
"""Every backend, with the module that holds its ``run``."""


class Backend(Protocol):
    """A module that runs jobs somewhere."""

    def run(self, spec: JobSpec, place: Place) -> JobResult:
        """Creates or adopts the job ``spec.name`` and waits for its end.

        Raises:
            ConfigError: The job cannot run there as it is; nothing was started.
            Temporary: The job is in other hands, or its machinery is away.
        """


def run_job(spec: JobSpec, *, backend: str, place: Place) -> JobResult:
    """Runs a job to its end.

    Called again after a kill, it adopts the job that is running, or takes the result of the one that
    ended meanwhile; a job that had failed is started afresh.

    Args:
        spec: What to run.
        backend: A key of ``BACKENDS``.
        place: The folders and the store of the step.

    Returns:
        How the job succeeded.

    Raises:
        ConfigError: The backend is unknown, or the job cannot run on it as it is.
        UserProgramFailed: The program failed, timed out, or wrote no output that it must write.
    """
    result = _backend(backend).run(spec, place)
    if result.failure is not None:
        text = result.failure.message.rstrip()
        logs = f"\nThe whole log: {result.logs[-1]}" if result.logs else ""
        raise UserProgramFailed(f"{text}{logs}", next_step=result.failure.next_step)
    return result


def check_backend(name: str) -> str:
    """Returns the backend's name, or raises ConfigError."""
    if name not in BACKENDS:
        near = difflib.get_close_matches(name, BACKENDS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Backends: {', '.join(BACKENDS)}."
        raise ConfigError(f"There is no backend {name!r}.", next_step=hint)
    return name


def _backend(name: str) -> Backend:
    return cast("Backend", importlib.import_module(BACKENDS[check_backend(name)]))
