"""One rank of numpy training that can be killed at any point and started again.

    train_numpy.py <store> <log> <final> [<operation>:<part of the key>:<before|after>:<which time>]

Appends to the log which step it resumed from and which one was the newest committed, and writes the
final weights' digest and how often each sample was seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from goldenpath.checkpoint import Checkpointer, CheckpointPolicy, catalogue
from goldenpath.provenance import new_attempt
from goldenpath.store import Store, open_store

STEPS, BATCH, SAMPLES = 60, 8, 32


class Deadly(Store):
    """Ends the process at one operation, as kill -9 would."""

    def __init__(self, inner: Store, spec: str) -> None:
        super().__init__(inner.url, inner.backend)
        self.operation, self.part, self.moment, times = spec.split(":")
        self.left = int(times)

    def _around(self, operation: str, key: str, act: Any) -> Any:
        hit = operation == self.operation and self.part in key
        self.left -= hit
        if hit and self.left == 0 and self.moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = act()
        if hit and self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def put(self, key: str, data: bytes | memoryview | Path) -> None:
        self._around("put", key, lambda: Store.put(self, key, data))

    def create(self, key: str, data: bytes | memoryview | Path) -> bool:
        return bool(self._around("create", key, lambda: Store.create(self, key, data)))

    def delete(self, keys: str | Iterable[str]) -> None:
        for key in [keys] if isinstance(keys, str) else keys:
            self._around("delete", key, lambda key=key: Store.delete(self, key))


def main() -> None:
    url, log, final, *spec = sys.argv[1:]
    store = open_store(url)
    newest = max(catalogue.steps("run-1", store=store), default=None)
    checkpointer = Checkpointer(
        store=Deadly(store, spec[0]) if spec else store,
        run="run-1",
        attempt=new_attempt(),
        policy=CheckpointPolicy(keep_last=2),
        part_size=100_000,
    )
    rng = np.random.default_rng(7)
    weights, seen, first = np.zeros(50_000), np.zeros(SAMPLES, dtype=np.int64), 0
    found = checkpointer.restore()
    if found is not None:
        weights, seen, first = found.state["weights"], found.state["seen"], found.step + 1
        rng.bit_generator.state = found.state["rng"]
    with Path(log).open("a") as file:
        file.write(json.dumps({"newest": newest, "resumed": found.step if found else None}) + "\n")
    for step in range(first, STEPS):
        batch = np.random.default_rng(step * BATCH // SAMPLES).permutation(SAMPLES)
        batch = batch[step * BATCH % SAMPLES :][:BATCH]
        seen[batch] += 1
        weights += rng.standard_normal(weights.size) * (batch.sum() + 1) / (step + 1)
        time.sleep(0.002)
        if step % 3 == 0:
            checkpointer.save(step, {"weights": weights, "seen": seen, "rng": rng.bit_generator.state})
    checkpointer.close()
    Path(final).write_text(
        json.dumps({"weights": hashlib.sha256(weights).hexdigest(), "seen": seen.tolist()})
    )


if __name__ == "__main__":
    main()
