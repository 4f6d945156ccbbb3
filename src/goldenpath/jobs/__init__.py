"""Runs the user's program as a job: one launcher for training, evaluation and batch work."""

from goldenpath.jobs.contract import JobContract, from_environment, read_output, write_output
from goldenpath.jobs.inputs import fetched
from goldenpath.jobs.launcher import BACKENDS, run_job
from goldenpath.jobs.place import Place
from goldenpath.jobs.spec import Failure, JobIdentity, JobResult, JobSpec, JobState, StartRecord

__all__ = [
    "BACKENDS",
    "Failure",
    "JobContract",
    "JobIdentity",
    "JobResult",
    "JobSpec",
    "JobState",
    "Place",
    "StartRecord",
    "fetched",
    "from_environment",
    "read_output",
    "run_job",
    "write_output",
]
