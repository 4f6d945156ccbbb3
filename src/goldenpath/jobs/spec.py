"""What a job runs, and how it ended: the same values for every backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from goldenpath.jobs.contract import JobContract
from goldenpath.jobs.names import job_name
from goldenpath.provenance import digest_of


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """One job: the user's program, and what it needs to run."""

    contract: JobContract
    """What the program is told; it names the run and the step."""
    entry_point: str
    """A ``.py`` file (relative to the source, or to the current folder) or a module."""
    args: tuple[str, ...] = ()
    torchrun: bool = False
    """Whether the processes are started by torchrun, or the program is one plain Python process."""
    nodes: int = 1
    processes_per_node: int = 1
    accelerators_per_node: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    """The reference of a snapshot that is unpacked under the program; empty for none."""
    image: str = ""
    queue: str | None = None
    priority: str = ""
    topology: str = ""
    runtime: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Outputs that the program must have written when it ends with 0, each with how it is written."""
    max_restarts: int = 0
    """How often a failed program is started again."""
    queue_timeout_s: float | None = None
    run_timeout_s: float | None = None

    @property
    def name(self) -> str:
        """The job's name."""
        return job_name(self.contract.run, self.contract.step)

    @property
    def digest(self) -> str:
        """The sha256 of what the job does: a job with another digest is never adopted."""
        return digest_of(
            {
                "job": [self.contract.run, self.contract.step, self.contract.model_name],
                "spec": self.contract.spec(),
                "program": [self.entry_point, *self.args],
                "torchrun": self.torchrun,
                "processes": [self.nodes, self.processes_per_node, self.accelerators_per_node],
                "env": dict(self.env),
                "source": self.source,
                "image": self.image,
                "runtime": self.runtime,
            }
        )


class JobState(StrEnum):
    """How a job ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, kw_only=True)
class JobIdentity:
    """The object that the job is: a process group here, an API object on a cluster."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a job failed."""

    reason: str
    """One word: ``Error``, ``Signal``, ``Timeout``, ``Stopped``, ``NoOutput``."""
    message: str
    """A sentence, and the program's own last lines."""
    exit_code: int | None
    """As a container reports it: 128 + the signal for a killed process."""
    pod: str = ""
    """The pod, or the rank here, where it failed first."""
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class StartRecord:
    """One start of the program. Times in seconds since the epoch."""

    attempt: str
    started_at: float
    finished_at: float


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """How a job ended, and what it took. Times in seconds."""

    state: JobState
    job: JobIdentity
    starts: tuple[StartRecord, ...]
    """Every start of the program, the oldest first."""
    evictions: int
    """Starts that ended through no fault of the program: preempted, or their machine went away."""
    restarts: int
    """Starts after the program had failed."""
    queued_s: float
    logs: tuple[str, ...]
    """The log of each start in the store, the oldest first."""
    failure: Failure | None = None

    @property
    def running_s(self) -> float:
        """Seconds that the program ran, all starts together."""
        return sum(start.finished_at - start.started_at for start in self.starts)
