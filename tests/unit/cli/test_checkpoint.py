from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from goldenpath.checkpoint import Checkpointer, CheckpointPolicy, list_checkpoints
from goldenpath.cli.checkpoint import app
from goldenpath.errors import NotFound
from goldenpath.journal import Journal
from goldenpath.provenance import StepRecord
from goldenpath.store import Store


@pytest.fixture
def store(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The configured store, with two checkpoints of a run."""
    monkeypatch.setenv("GOLDENPATH_STORE", file_store.url)
    policy = CheckpointPolicy(keep_last=9)
    with Checkpointer(store=file_store, run="run-1", attempt="0000000a", policy=policy) as one:
        one.save(1, {"w": np.ones((2, 3))}, metrics={"acc": 0.9})
        one.save(2, {"w": np.ones((2, 3))}, metrics={"acc": 0.5})
    return file_store


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_list(store: Store) -> None:
    assert [item["step"] for item in run_json("list", "run-1")] == [1, 2]
    assert "run-1:2@sha256:" in run("list", "run-1")
    assert run("list", "run-2") == "Run run-2 has no checkpoint.\n"


def test_show(store: Store) -> None:
    found = run_json("show", "run-1:2")
    assert found["arrays"] == {"w": {"dtype": "float64", "shape": [2, 3]}}
    assert len(found["objects"]) == 1
    assert "w: float64[2, 3]" in run("show", "run-1")


def test_verify(store: Store) -> None:
    assert run_json("verify", "run-1:2")["step"] == 2
    assert "is whole: 48 B verified" in run("verify", "run-1")


def test_select(store: Store) -> None:
    assert run_json("select", "run-1")["step"] == 2
    assert run_json("select", "run-1", "--metric", "acc")["step"] == 1
    assert run_json("select", "run-1", "--metric", "acc", "--mode", "min")["step"] == 2


def test_prune_tells_first_and_then_does(store: Store) -> None:
    told = run_json("prune", "run-1", "--keep-last", "1", "--dry-run")
    assert told["dropped"] == [1]
    assert len(list_checkpoints("run-1", store=store)) == 2
    assert run_json("prune", "run-1", "--keep-last", "1", "--metric", "acc")["dropped"] == []
    assert run_json("prune", "run-1", "--keep-last", "1", "--pin", "1")["dropped"] == []
    assert "Steps that are gone: 1" in run("prune", "run-1", "--keep-last", "1")
    assert [info.step for info in list_checkpoints("run-1", store=store)] == [2]


def test_export(store: Store, tmp_path: Path) -> None:
    assert run_json("export", "run-1:1", str(tmp_path / "out"))["step"] == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json",
        "state.json",
        "tensors.safetensors",
    ]


def test_goodput_tells_where_the_time_went_and_how_often_to_save(store: Store) -> None:
    now = datetime.now(UTC)
    record = StepRecord(
        run="run-1",
        step="launch",
        component="training.launch",
        key="k",
        attempt="a",
        inputs={},
        outputs={
            "goodput": {"productive_s": 90, "saving_s": 4, "loading_s": 1, "lost_s": 5, "waiting_s": 0},
            "restarts": 1,
            "evictions": 1,
        },
        started_at=now,
        finished_at=now,
    )
    Journal(store).commit_step(record, reusable=False)
    found = run_json("goodput", "run-1")
    assert found["goodput"] == pytest.approx(0.9)
    assert found["failures"] == 2
    assert 0 < found["interval_s"] < 50
    assert "productive 90.0%" in run("goodput", "run-1")


def test_goodput_needs_a_finished_training(store: Store) -> None:
    with pytest.raises(NotFound, match="no finished training"):
        run("goodput", "run-1")
