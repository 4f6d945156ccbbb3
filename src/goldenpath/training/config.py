"""What a user asks for when training."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from goldenpath.checkpoint import CheckpointPolicy
from goldenpath.jobs import BACKENDS
from goldenpath.jobs.variables import check_variables

PLAIN = "plain"
TORCH_DISTRIBUTED = "torch-distributed"

_DNS_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class TrainingJob(BaseModel):
    """A training entry point, and what it needs to run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    outside_identity: ClassVar[frozenset[str]] = frozenset(
        {
            "queue",
            "priority",
            "topology",
            "backend",
            "max_restarts",
            "queue_timeout_s",
            "run_timeout_s",
            "grace_s",
        }
    )
    """Where and when it runs, which makes no other model."""

    entry_point: str
    """A ``.py`` file relative to the source, or a module: ``train.py``, ``team.train``."""
    args: tuple[str, ...] = ()
    """Arguments of the program. By default none: parameters come as ``params``."""
    params: dict[str, JsonValue] = {}
    """What the training code finds in ``run.params``. By default nothing."""
    image: str = ""
    """The image that it runs in; by default the platform's. This machine's Python with ``local``."""
    nodes: int = Field(default=1, ge=1)
    """How many machines. ``local`` runs the processes of all of them on this one."""
    processes_per_node: int = Field(default=1, ge=1)
    """How many processes on each, usually one for each accelerator."""
    accelerators_per_node: int = Field(default=0, ge=0)
    """How many accelerators each node asks for. By default none."""
    queue: str | None = None
    """The Kueue LocalQueue; by default none, where the platform allows that."""
    priority: str = ""
    """The WorkloadPriorityClass; by default the queue's."""
    topology: str = ""
    """The topology level that all pods must share, such as a rack; by default none is asked for."""
    runtime: str = TORCH_DISTRIBUTED
    """``torch-distributed`` (torchrun), ``plain`` (one Python process), or a cluster's training runtime."""
    backend: str = "local"
    """Where it runs."""
    checkpoint: CheckpointPolicy = CheckpointPolicy()
    """When the training code's checkpointer saves, and what it keeps."""
    max_restarts: int = Field(default=0, ge=0)
    """How often a failed program is started again, from its last checkpoint. By default never; being
    preempted or losing a node does not count."""
    queue_timeout_s: float | None = Field(default=None, gt=0)
    """Seconds that it may wait in the queue; by default for ever."""
    run_timeout_s: float | None = Field(default=None, gt=0)
    """Seconds that one start may run; by default for ever."""
    grace_s: int = Field(default=30, ge=1)
    """Seconds between SIGTERM and SIGKILL: at least the time that a save takes."""
    env: dict[str, str] = {}
    """Variables for the program. Credentials are no part of it: they come from the environment."""

    @field_validator("entry_point")
    @classmethod
    def _entry_point_is_inside_the_source(cls, value: str) -> str:
        path = PurePosixPath(value)
        if value.endswith(".py"):
            if path.is_absolute() or ".." in path.parts:
                raise ValueError("the file must be inside the source: no absolute path, no '..'")
        elif not _MODULE.fullmatch(value):
            raise ValueError("it must be a .py file or a module, such as train.py or team.train")
        return value

    @field_validator("queue")
    @classmethod
    def _queue_is_named_on_purpose(cls, value: str | None) -> str | None:
        if value == "default":
            raise ValueError(
                "a LocalQueue named 'default' is refused, for it captures jobs that named no queue; "
                "name another, or null for none"
            )
        return value if value is None else _dns_name(value)

    @field_validator("priority")
    @classmethod
    def _priority_is_a_name(cls, value: str) -> str:
        return _dns_name(value) if value else value

    @field_validator("backend")
    @classmethod
    def _backend_is_known(cls, value: str) -> str:
        if value not in BACKENDS:
            raise ValueError(f"backends are {', '.join(BACKENDS)}")
        return value

    @field_validator("env")
    @classmethod
    def _variables_are_free(cls, value: dict[str, str]) -> dict[str, str]:
        check_variables(value)
        return value

    @model_validator(mode="after")
    def _plain_is_one_process(self) -> TrainingJob:
        count = self.nodes * self.processes_per_node
        if self.runtime == PLAIN and count > 1:
            raise ValueError(f"the runtime 'plain' is one process, not {count}; use {TORCH_DISTRIBUTED!r}")
        return self

    @property
    def accelerators(self) -> int:
        """All accelerators of the job."""
        return self.nodes * self.accelerators_per_node


def _dns_name(value: str) -> str:
    if not _DNS_NAME.fullmatch(value):
        raise ValueError("it must be 1 to 63 of a-z, 0-9 and '-', with a letter or digit at both ends")
    return value
