"""The command line and the environment of a local job: plain functions of the specification."""

from __future__ import annotations

import difflib
import importlib.util
import itertools
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from goldenpath.errors import ConfigError
from goldenpath.jobs.spec import JobSpec

_LOOKED_AT = 5000
_FROM_THE_LAUNCHER = (
    "GOLDENPATH_JOB_", "GOLDENPATH_RUN", "GOLDENPATH_STEP", "PET_", "TORCHELASTIC_",
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_", "ROLE_", "MASTER_", "MLFLOW_RUN_ID",
)  # fmt: skip
"""Prefixes of variables that say something of the launcher's own process, which is not the job's."""

RANK_PREFIX = "[rank ${rank}] "
"""Before each line of a torchrun job's log, so that the ranks can be told from torchrun itself."""


def command(spec: JobSpec, *, log_dir: Path) -> list[str]:
    """The program's arguments: plain Python, or torchrun with all processes on this machine.

    A job of several nodes runs here as one node with all their processes: the world is as large.
    """
    target = [spec.entry_point] if is_file(spec.entry_point) else ["-m", spec.entry_point]
    if not spec.torchrun:
        return [sys.executable, *target, *spec.args]
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--local-addr=127.0.0.1",
        f"--nproc-per-node={spec.nodes * spec.processes_per_node}",
        # Its restarts would keep the attempt's name, and mix two attempts' checkpoints.
        "--max-restarts=0",
        f"--shutdown-timeout={spec.contract.grace_s}",
        f"--log-dir={log_dir}",
        "--tee=3",
        f"--log-line-prefix-template={RANK_PREFIX}",
        *target,
        *spec.args,
    ]


def environment(
    spec: JobSpec, *, attempt_environment: Mapping[str, str], inherited: Mapping[str, str], cwd: Path
) -> dict[str, str]:
    """The job's variables: the launcher's own without what is about itself, the job's, the contract's."""
    found = {name: value for name, value in inherited.items() if not name.startswith(_FROM_THE_LAUNCHER)}
    paths = [str(cwd), *filter(None, [found.get("PYTHONPATH", "")])]
    processes = spec.nodes * spec.processes_per_node
    found.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    found.update({"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"})
    return {**found, **spec.env, **attempt_environment}


def is_file(entry_point: str) -> bool:
    """Whether an entry point is a file, not a module."""
    return entry_point.endswith(".py")


def check_entry_point(entry_point: str, folder: Path) -> None:
    """Finds out, before anything starts, whether the program exists.

    Raises:
        ConfigError: It does not; the nearest one is named.
    """
    if is_file(entry_point):
        if (folder / entry_point).is_file():
            return
    elif _module_exists(entry_point, folder):
        return
    kind = "file" if is_file(entry_point) else "module"
    raise ConfigError(
        f"The entry point {entry_point!r} is no {kind} of {folder}.", next_step=_nearest(entry_point, folder)
    )


def check_torch() -> None:
    """Raises ConfigError where torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise ConfigError(
            "The runtime 'torch-distributed' needs torch, which is not installed here.",
            next_step="Install goldenpath[torch], or set the runtime to 'plain' for one Python process.",
        )


def _module_exists(name: str, folder: Path) -> bool:
    path = folder.joinpath(*name.split("."))
    if path.with_suffix(".py").is_file() or (path / "__main__.py").is_file():
        return True
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    # Only the top package is looked for: finding a submodule would import, and so run, its parents.
    return importlib.util.find_spec(name.partition(".")[0]) is not None


def _nearest(entry_point: str, folder: Path) -> str:
    files = [
        str(path.relative_to(folder))
        for path in itertools.islice(folder.rglob("*.py"), _LOOKED_AT)
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    names = files if is_file(entry_point) else [f.removesuffix(".py").replace("/", ".") for f in files]
    near = difflib.get_close_matches(entry_point, names, n=1)
    same_name = [name for name in names if Path(name).name == Path(entry_point).name]
    if same_name or near:
        return f"Did you mean {(same_name or near)[0]!r}?"
    return "Name a .py file relative to the source's folder, or a module."
