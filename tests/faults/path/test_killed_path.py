"""kill -9 of the path at each of its steps, then the same command: it finishes, and does nothing twice."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.local, pytest.mark.faults, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
COMMAND = str(Path(sys.executable).parent / "goldenpath")
STEPS = (
    "snapshot-train",
    "snapshot-source",
    "pin",
    "train",
    "evaluate-candidate",
    "gate",
    "register",
    "promote",
    "finish",
)
PATIENCE_S = 240


def command(*overrides: str) -> list[str]:
    return [COMMAND, "run", "train-to-serve", "-f", "path.yaml", "--json", *overrides]


def start(folder: Path) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GOLDENPATH_", "MLFLOW_"))}
    with (folder.parent / "path.log").open("a") as log:
        return subprocess.Popen(
            command("--set", "training.params.hidden=8", "--set", "training.params.epochs=10"),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def begun(folder: Path, step: str) -> bool:
    """Whether a step was started, or is over."""
    return any((folder / ".goldenpath" / "store" / "runs").glob(f"*/steps/{step}/*.json"))


def kill_at(folder: Path, step: str) -> None:
    """Starts the path, and kills it as soon as the step has begun."""
    process = start(folder)
    deadline = time.monotonic() + PATIENCE_S
    while not begun(folder, step) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert begun(folder, step), (folder.parent / "path.log").read_text()[-4000:]
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_killed_at_every_step_it_finishes_and_does_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "digits"
    shutil.copytree(
        ROOT / "examples" / "digits", folder, ignore=shutil.ignore_patterns("data", "__pycache__")
    )
    subprocess.run([sys.executable, "prepare.py"], cwd=folder, check=True)
    try:
        for step in STEPS:
            kill_at(folder, step)
        out, _ = start(folder).communicate(timeout=PATIENCE_S)
    finally:
        subprocess.run([COMMAND, "serve", "stop", "digits"], cwd=folder, check=True, capture_output=True)
    result: dict[str, Any] = json.loads(out)
    store = folder / ".goldenpath" / "store"
    # Killed inside the very last step the answer may be on record already: then nothing changed since.
    assert result["outcome"] in ("promoted", "unchanged"), (folder.parent / "path.log").read_text()[-4000:]
    trainings = list(store.glob("runs/*/steps/train/logs/*"))
    assert len(trainings) == 1
    assert len(list(store.glob("refs/models/digits/*.json"))) == 1
    assert len(list(store.glob("models/digits/sha256-*"))) == 1
    epochs = sorted(store.glob("refs/aliases/digits/*.json"))
    champions = {json.loads(path.read_text())["aliases"].get("champion") for path in epochs} - {None}
    assert champions == {result["champion"]}
