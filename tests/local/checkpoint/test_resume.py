"""A data-parallel training that is killed and resumed ends as one that was not, to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goldenpath.checkpoint import list_checkpoints
from goldenpath.store import Store, open_store

pytestmark = [pytest.mark.local, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).parent / "programs" / "train_torch.py"


def launch(store: Store, final: Path, *kill: str) -> int:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "0",
        "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0",
        str(PROGRAM), store.url, str(final), *kill,
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, timeout=150, check=False).returncode


def end(final: Path) -> dict[str, Any]:
    return dict(json.loads(final.read_text()))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert launch(open_store((folder / "store").as_uri()), folder / "final.json") == 0
    return end(folder / "final.json")


def test_killed_and_resumed_the_weights_are_the_same_to_the_bit(
    s3_store: Store, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    final = tmp_path / "final.json"
    assert launch(s3_store, final, "1:9") != 0
    assert not final.exists()
    newest = list_checkpoints("run-1", store=s3_store)[-1].step
    assert newest in (6, 8)
    assert launch(s3_store, final) == 0
    found = end(final)
    assert found["resumed"] == newest
    assert found["weights"] == undisturbed["weights"]
    assert found["seen"] == undisturbed["seen"] == [4] * 32
