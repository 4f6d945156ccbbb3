"""A bounded pool of threads: transfers run side by side, and only so many wait with their bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

_WORKERS = 12
_WAITING = 2 * _WORKERS


class Pool:
    """Runs jobs while its context lasts; a fault in one ends the others that have not begun."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="goldenpath-data")
        self._room = threading.BoundedSemaphore(_WAITING)
        self._jobs: set[Future[Any]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Runs a job in the pool; waits where too many wait already, so that memory stays bounded."""
        self._room.acquire()
        future = self._pool.submit(self._run, job)
        self._jobs.add(future)
        if len(self._jobs) > 4 * _WAITING:
            self._collect()
        return future

    def finish(self) -> None:
        """Waits for every job; the first fault is raised as soon as it is known."""
        while self._jobs:
            wait(self._jobs, return_when=FIRST_EXCEPTION)
            self._collect()

    def _run(self, job: Callable[[], T]) -> T:
        try:
            return job()
        finally:
            self._room.release()

    def _collect(self) -> None:
        done = {job for job in self._jobs if job.done()}
        self._jobs -= done
        for job in done:
            job.result()
