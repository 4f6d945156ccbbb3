"""kill -9 at every operation on the store, and at random instants: the end is the same to the bit."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goldenpath.checkpoint import list_checkpoints, verify
from goldenpath.store import open_store

pytestmark = pytest.mark.faults

PROGRAM = Path(__file__).parents[2] / "local" / "checkpoint" / "programs" / "train_numpy.py"
SEEDS = int(os.environ.get("GOLDENPATH_FAULTS", "10"))


class Training:
    """A training that is started again until it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.store = (folder / "store").as_uri()
        self.log, self.final = folder / "log.jsonl", folder / "final.json"

    def start(self, *spec: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(PROGRAM), self.store, str(self.log), str(self.final), *spec]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def end(self) -> dict[str, Any]:
        process = self.start()
        assert process.wait(120) == 0
        return dict(json.loads(self.final.read_text()))

    def starts(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the training ends when nobody kills it."""
    return Training(tmp_path_factory.mktemp("undisturbed")).end()


def assert_same_end(training: Training, undisturbed: dict[str, Any]) -> None:
    assert training.end() == undisturbed
    assert set(undisturbed["seen"]) == {15}
    for start in training.starts():
        # Killed between the first manifest's copy and its commit, resume commits it itself.
        assert start["resumed"] == start["newest"] or (start["newest"], start["resumed"]) == (None, 0)
    store = open_store(training.store)
    for info in list_checkpoints("run-1", store=store):
        verify(info.ref)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "operation",
    [
        "put:00000-00000.bin",
        "put:00000-00004.bin",
        "put:manifest.json",
        "create:refs/checkpoints",
        "delete:refs/checkpoints",
        "delete:manifest.json",
        "delete:00000-00002.bin",
    ],
)
def test_killed_at_an_operation_the_run_ends_as_if_it_were_not(
    tmp_path: Path, undisturbed: dict[str, Any], operation: str, moment: str
) -> None:
    training = Training(tmp_path / "run")
    # The first time there is nothing to resume from yet, the third time there is.
    for times in (1, 3):
        assert training.start(f"{operation}:{moment}:{times}").wait(120) == -signal.SIGKILL
    assert_same_end(training, undisturbed)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_killed_at_random_instants_the_run_ends_as_if_it_were_not(
    tmp_path: Path, undisturbed: dict[str, Any], seed: int
) -> None:
    instants = random.Random(seed)
    training = Training(tmp_path / "run")
    for _ in range(2):
        process = training.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(instants.uniform(0.3, 2.0))
        process.kill()
        process.wait()
        if training.final.exists():
            break
    assert_same_end(training, undisturbed)
