"""The backend ``local``: the program as processes of this machine, supervised so that they outlive us.

The launcher may be killed at any point: the step's next attempt finds the job running and waits for
it, or finds how it ended. Ctrl-C and SIGTERM stop the job with the launcher.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

from goldenpath import progress
from goldenpath.errors import ConfigError, Temporary
from goldenpath.jobs import supervisor
from goldenpath.jobs.contract import read_output
from goldenpath.jobs.failure import failure_of
from goldenpath.jobs.inputs import fetched
from goldenpath.jobs.logs import Follower, progress_of, tail
from goldenpath.jobs.place import Place
from goldenpath.jobs.program import check_entry_point, check_torch, command, environment
from goldenpath.jobs.spec import Failure, JobIdentity, JobResult, JobSpec, JobState
from goldenpath.jobs.starts import Start, launch, list_starts, new_start, only_launcher
from goldenpath.jobs.verdict import Tally, Verdict, judge, starts_again
from goldenpath.store import keys

_POLL_S = 0.1


def run(spec: JobSpec, place: Place) -> JobResult:
    """Starts the job or adopts it, and waits for its end.

    Raises:
        ConfigError: The program does not exist, or the step's job runs with another configuration.
        Temporary: Another launcher has the step, or the job is killed again and again.
    """
    if place.store.url.startswith("memory://"):
        raise ConfigError(
            f"A job is a process of its own and cannot see the store {place.store.url}.",
            next_step="Use a store of the scheme file:// or s3://.",
        )
    job = _LocalJob(spec, place)
    with only_launcher(place.work_dir), _sigterm_raises():
        try:
            return job.run()
        except (KeyboardInterrupt, SystemExit):
            job.stop()
            raise


class _LocalJob:
    """One step's job, over all its starts."""

    def __init__(self, spec: JobSpec, place: Place) -> None:
        self._spec = spec
        self._place = place

    def run(self) -> JobResult:
        tally = Tally()
        start = self._adopted() or self._begin()
        while True:
            self._wait(start)
            log = self._keep_log(start)
            missing = self._missing()
            verdict = judge(start.state(), missing=missing)
            if not starts_again(verdict, tally, max_restarts=self._spec.max_restarts):
                return self._result(start, verdict, missing)
            if verdict is Verdict.FAILED:
                tally = replace(tally, failed=tally.failed + 1)
                progress.note(f"Restart {tally.failed} of {self._spec.max_restarts}; the log: {log}")
            else:
                tally = replace(tally, lost=tally.lost + 1)
                progress.note(f"The job was killed from outside; starting it again. The log: {log}")
            start = self._begin()

    def stop(self) -> None:
        """Ends whatever runs of this job."""
        for start in list_starts(self._place.work_dir):
            if start.alive():
                progress.note(f"Stopping {self._spec.name}; it has {self._spec.contract.grace_s} s to save.")
                start.stop(grace_s=self._spec.contract.grace_s)

    def _adopted(self) -> Start | None:
        """The last start, if it runs, or succeeded while nobody watched."""
        starts = list_starts(self._place.work_dir)
        if not starts:
            return None
        last = starts[-1]
        same = last.digest() == self._spec.digest
        if last.alive():
            if not same:
                raise ConfigError(
                    f"The job of {self._place.step} runs with another configuration (start {last.name}).",
                    next_step="Stop that run first, or begin a new one.",
                )
            progress.note(f"{self._spec.name} is running already: waiting for it")
            return last
        # A killed supervisor leaves its program running.
        supervisor.kill_processes(last.attempt)
        verdict = judge(last.state(), missing=self._missing())
        if same and verdict is Verdict.SUCCEEDED:
            progress.note(f"{self._spec.name} has ended already")
            return last
        if last.log.exists():
            self._keep_log(last)
        return None

    def _begin(self) -> Start:
        spec, place = self._spec, self._place
        if spec.torchrun:
            check_torch()
        cwd = Path.cwd()
        if spec.source:
            cwd = fetched(spec.source, place.work_dir / "source", store=place.store)
        check_entry_point(spec.entry_point, cwd)
        start = new_start(place.work_dir, digest=spec.digest)
        contract = replace(spec.contract, attempt=start.attempt)
        env = environment(spec, attempt_environment=contract.environment(), inherited=os.environ, cwd=cwd)
        program = command(spec, log_dir=start.folder / "ranks")
        progress.note(f"Starting {spec.name}: {spec.entry_point}, {_processes(spec)}; log {start.log}")
        process = launch(
            start, program, env=env, cwd=cwd, grace_s=spec.contract.grace_s, timeout_s=spec.run_timeout_s or 0
        )
        # Its parent is this process as long as it lives: somebody has to collect the exit code.
        threading.Thread(target=process.wait, daemon=True).start()
        return start

    def _wait(self, start: Start) -> None:
        follower = Follower(start.log)
        alive = True
        while alive:
            # Asked before the log is read, so that the last lines are read too.
            alive = start.alive()
            for line in follower.lines():
                text = progress_of(line)
                if text:
                    progress.note(text)
            if alive:
                time.sleep(_POLL_S)
        # Dead with its work done, or killed: then its program may be running on.
        supervisor.kill_processes(start.attempt)

    def _keep_log(self, start: Start) -> str:
        key = keys.step_log(self._place.run, self._place.step, start.name)
        self._place.store.put(key, start.log)
        return self._place.store.uri(key)

    def _missing(self) -> list[str]:
        place = self._place
        return [
            name
            for name in self._spec.outputs
            if read_output(place.store, run=place.run, step=place.step, name=name) is None
        ]

    def _result(self, last: Start, verdict: Verdict, missing: list[str]) -> JobResult:
        if verdict is Verdict.LOST:
            raise Temporary(
                f"The job {self._spec.name} was killed from outside again and again.",
                next_step="See whether the machine's memory is full, then try again.",
            )
        # Without a log it was killed before it began.
        starts = [
            s for s in list_starts(self._place.work_dir) if s.digest() == self._spec.digest and s.log.exists()
        ]
        verdicts = [judge(s.state(), missing=()) for s in starts[:-1]]
        logs = [keys.step_log(self._place.run, self._place.step, s.name) for s in starts]
        state = {Verdict.SUCCEEDED: JobState.SUCCEEDED, Verdict.TIMED_OUT: JobState.TIMED_OUT}
        return JobResult(
            state=state.get(verdict, JobState.FAILED),
            job=JobIdentity(kind="process", name=self._spec.name, uid=last.attempt),
            starts=tuple(record for start in starts if (record := start.record()) is not None),
            evictions=verdicts.count(Verdict.LOST),
            restarts=len(verdicts) - verdicts.count(Verdict.LOST),
            queued_s=0.0,
            logs=tuple(self._place.store.uri(key) for key in logs),
            failure=self._failure(last, verdict, missing),
        )

    def _failure(self, start: Start, verdict: Verdict, missing: list[str]) -> Failure | None:
        if verdict is Verdict.SUCCEEDED:
            return None
        state = start.state()
        code = state.exit_code if state and state.exit_code is not None else 1
        return failure_of(self._spec, verdict, exit_code=code, log=tail(start.log), missing=missing)


def _processes(spec: JobSpec) -> str:
    count = spec.nodes * spec.processes_per_node
    return f"{count} processes" if count > 1 else "1 process"


@contextlib.contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Makes SIGTERM end the wait as Ctrl-C does, where this thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(signum: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + signum)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
