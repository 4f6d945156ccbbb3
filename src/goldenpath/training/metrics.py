"""Metrics on their way to the tracking server: in the background, for training never waits for it."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any

from goldenpath import progress

_BATCH = 1000  # MLflow's limit of one request.
_BATCH_S = 1.0
_CLOSE_S = 20.0
_WAITING = 100_000


class MetricLog:
    """Sends metrics to the MLflow run of the job, if there is one."""

    def __init__(self, *, tracking: str, tracking_run: str) -> None:
        self._tracking, self._run = tracking, tracking_run
        self._queue: queue.Queue[tuple[str, float, int, int] | None] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None

    def add(self, metrics: Mapping[str, float], *, step: int) -> None:
        """Takes metrics of one step; what the server cannot take in time is dropped, never waited for."""
        if not self._run:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._send, name="metrics", daemon=True)
            self._thread.start()
        now = int(time.time() * 1000)
        for name, value in metrics.items():
            try:
                self._queue.put_nowait((name, value, now, step))
            except queue.Full:
                return

    def close(self) -> None:
        """Sends what waits, for some seconds."""
        if self._thread is None:
            return
        try:
            self._queue.put(None, timeout=_CLOSE_S)
        except queue.Full:
            return
        self._thread.join(_CLOSE_S)

    def _send(self) -> None:
        try:
            from mlflow import MlflowClient
            from mlflow.entities import Metric
            from mlflow.exceptions import MlflowException
        except ImportError:
            progress.note("MLflow is not installed: metrics are printed only (goldenpath[mlflow]).")
            return
        client = MlflowClient(tracking_uri=self._tracking)
        while True:
            batch, last = self._next_batch()
            try:
                if batch:
                    client.log_batch(self._run, metrics=[Metric(*item) for item in batch])
            except MlflowException as error:
                reason = str(error).partition("\n")[0]
                progress.note(f"Metrics do not reach {self._tracking}, and are printed only: {reason}")
                return
            if last:
                return

    def _next_batch(self) -> tuple[list[tuple[str, float, int, int]], bool]:
        batch: list[tuple[str, float, int, int]] = []
        item = self._queue.get()
        until = time.monotonic() + _BATCH_S
        while item is not None:
            batch.append(item)
            if len(batch) == _BATCH:
                return batch, False
            try:
                item = self._queue.get(timeout=max(until - time.monotonic(), 0.0))
            except queue.Empty:
                return batch, False
        return batch, True


def finite(metrics: Mapping[str, Any], *, what: str) -> dict[str, float]:
    """The metrics that are numbers; of one that is NaN or infinite only a line is told.

    A missing metric passes no gate, while a NaN kept as a number might.
    """
    found = {}
    for name, value in metrics.items():
        number = float(value)
        if math.isfinite(number):
            found[name] = number
        else:
            progress.note(f"{what}: the metric {name!r} is {number}, and is left out")
    return found
