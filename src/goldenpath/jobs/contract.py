"""The contract with the user's program: environment variables that every backend sets.

    GOLDENPATH_JOB_RUN         the run
    GOLDENPATH_JOB_STEP        the step of the run
    GOLDENPATH_JOB_ATTEMPT     this start of the job: 8 hexadecimal digits, the same on every rank
    GOLDENPATH_JOB_SPEC        JSON: {"datasets": {name: ref}, "params": {…}, "checkpoint": {…} or null}
    GOLDENPATH_JOB_MODEL_NAME  the name that a model is published under; absent where none is expected
    GOLDENPATH_JOB_OUTPUT      a URI prefix in the store: output NAME is the object <prefix>/NAME.json
    GOLDENPATH_JOB_CACHE       a local folder for verified data, shared by all processes of the pod
    GOLDENPATH_JOB_GRACE_S     seconds between SIGTERM and SIGKILL
    GOLDENPATH_STORE           the store, so that `goldenpath …` in the job works on the same one

``MLFLOW_TRACKING_URI`` and ``MLFLOW_RUN_ID`` come with it where a tracking server is set, ranks from
torchrun. A program in another language reads these and calls the command line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from goldenpath.errors import ConfigError, DataDamaged
from goldenpath.provenance import canonical_json, check_run, check_step
from goldenpath.settings import variable
from goldenpath.store import Store, keys, open_store

PREFIX = "GOLDENPATH_JOB_"
RESERVED_PREFIXES = ("GOLDENPATH_", "PET_", "TORCHELASTIC_")
"""Variables that the launcher, Kubeflow Trainer and torchrun set: a job's own ``env`` may not."""


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid")

    datasets: dict[str, str] = {}
    params: dict[str, Any] = {}
    checkpoint: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class JobContract:
    """What a job's processes are told."""

    run: str
    step: str
    store: str
    """The store's URL."""
    cache_dir: str
    attempt: str = ""
    """This start of the job; a backend fills it in for each start."""
    model_name: str = ""
    datasets: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] | None = None
    """The checkpoint policy as JSON."""
    tracking: str = ""
    """The tracking server's URI; empty for none."""
    tracking_run: str = ""
    """The run on it that belongs to this job."""
    grace_s: int = 30

    def __post_init__(self) -> None:
        check_run(self.run)
        check_step(self.step)

    @property
    def output(self) -> str:
        """The URI prefix of the outputs."""
        return f"{self.store}/{keys.step_outputs(self.run, self.step)}".rstrip("/")

    def spec(self) -> dict[str, Any]:
        """The JSON value of ``GOLDENPATH_JOB_SPEC``."""
        checkpoint = None if self.checkpoint is None else dict(self.checkpoint)
        return {"datasets": dict(self.datasets), "params": dict(self.params), "checkpoint": checkpoint}

    def environment(self) -> dict[str, str]:
        """The variables; ``from_environment`` reads them back.

        Raises:
            InputError: The parameters hold something that JSON cannot carry.
        """
        found = {
            "RUN": self.run,
            "STEP": self.step,
            "ATTEMPT": self.attempt,
            "SPEC": canonical_json(self.spec()).decode(),
            "MODEL_NAME": self.model_name,
            "OUTPUT": self.output,
            "CACHE": self.cache_dir,
            "GRACE_S": str(self.grace_s),
        }
        variables = {PREFIX + name: value for name, value in found.items()}
        variables |= {variable("store"): self.store, variable("tracking"): self.tracking}
        variables |= {"MLFLOW_RUN_ID": self.tracking_run}
        return {name: value for name, value in variables.items() if value}


def from_environment(environ: Mapping[str, str] | None = None) -> JobContract:
    """Reads the contract inside a job.

    Raises:
        ConfigError: This process is in no job, or a variable is damaged.
    """
    environ = os.environ if environ is None else environ
    if not environ.get(PREFIX + "RUN"):
        raise ConfigError(
            f"This process is not part of a job: {PREFIX}RUN is not set.",
            next_step="Run the program through `goldenpath run`, which sets the job's variables.",
        )
    try:
        spec = _Spec.model_validate_json(_required(environ, "SPEC"))
        grace_s = int(_required(environ, "GRACE_S"))
    except (ValidationError, ValueError) as error:
        raise ConfigError(f"The variables {PREFIX}SPEC or {PREFIX}GRACE_S are damaged: {error}.") from None
    run, step, output = (_required(environ, name) for name in ("RUN", "STEP", "OUTPUT"))
    end = f"/{keys.step_outputs(run, step)}".rstrip("/")
    if not output.endswith(end):
        raise ConfigError(f"{PREFIX}OUTPUT is {output!r}, which does not end in {end!r}.")
    return JobContract(
        run=run,
        step=step,
        store=output.removesuffix(end),
        cache_dir=_required(environ, "CACHE"),
        attempt=environ.get(PREFIX + "ATTEMPT", ""),
        model_name=environ.get(PREFIX + "MODEL_NAME", ""),
        datasets=spec.datasets,
        params=spec.params,
        checkpoint=spec.checkpoint,
        tracking=environ.get(variable("tracking"), ""),
        tracking_run=environ.get("MLFLOW_RUN_ID", ""),
        grace_s=grace_s,
    )


def write_output(contract: JobContract, name: str, value: Any) -> Any:
    """Writes one output of the job, create-only, and returns the one that holds.

    Args:
        contract: The job's contract.
        name: The output's name.
        value: JSON data.

    Returns:
        ``value``, or the value of an earlier start that had written this output already.
    """
    store = open_store(contract.store)
    if store.create(_key(contract.run, contract.step, name), canonical_json(value)):
        return value
    return read_output(store, run=contract.run, step=contract.step, name=name)


def read_output(store: Store, *, run: str, step: str, name: str) -> Any:
    """One output of a step's job, or None where it was not written.

    Raises:
        DataDamaged: The object is no JSON.
    """
    key = _key(run, step, name)
    data = store.get_or_none(key)
    if data is None:
        return None
    try:
        return json.loads(data)
    except ValueError:
        raise DataDamaged(f"The output {store.uri(key)} is no JSON.") from None


def _key(run: str, step: str, name: str) -> str:
    return f"{keys.step_outputs(run, step)}{name}.json"


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(PREFIX + name)
    if not value:
        raise ConfigError(f"{PREFIX}{name} is not set, though {PREFIX}RUN is.")
    return value
