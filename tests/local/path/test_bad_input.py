"""What a user gets wrong: one clear sentence, the right exit code, no traceback, nothing half-committed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.local

COMMAND = str(Path(sys.executable).parent / "goldenpath")

PATH_FILE = """
path: train-to-serve
model: toy
data:
  train: {source: data/train}
  test: {source: data/test}
training: {entry_point: train.py, runtime: plain}
evaluation: {evaluator: "score:evaluate"}
gate:
  rules: [{kind: floor, metric: accuracy, at_least: 0.5}]
promotion: null
"""
TRAIN = """
import goldenpath, pathlib
with goldenpath.training_run() as run:
    folder = pathlib.Path("model")
    folder.mkdir()
    (folder / "weights.txt").write_text("1")
    run.publish_model(folder)
"""
EVALUATE = """
def evaluate(model, dataset):
    return {"accuracy": 1.0}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A path that would run to its end, to be spoilt."""
    folder = tmp_path / "toy"
    for name, content in {
        "path.yaml": PATH_FILE,
        "train.py": TRAIN,
        "score.py": EVALUATE,
        "data/train/a.csv": "1\n",
        "data/test/a.csv": "2\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def fails(project: Path, *arguments: str, code: int, **environment: str) -> str:
    """Runs the path, which must end with ``code``; the error's text."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GOLDENPATH_", "MLFLOW_", "AWS_"))}
    done = subprocess.run(
        [COMMAND, "run", "train-to-serve", "-f", "path.yaml", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **environment},
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.count("Traceback (most recent call last)") == 0 or "Its last lines:" in done.stderr
    committed = list((project / ".goldenpath" / "store").glob("refs/models/*/*"))
    assert committed == []
    return done.stderr


def test_a_source_that_is_not_there(project: Path) -> None:
    message = fails(project, "--set", "data.train.source=data/trian", code=2)
    assert "data/trian" in message


def test_a_source_with_nothing_in_it(project: Path) -> None:
    (project / "data" / "train" / "a.csv").unlink()
    assert "data/train" in fails(project, code=2)


def test_a_key_that_is_mistyped(project: Path) -> None:
    message = fails(project, "--set", "training.entrypoint=train.py", code=2)
    assert "'training.entrypoint' is unknown (did you mean 'entry_point'?)" in message


def test_a_value_of_the_wrong_type(project: Path) -> None:
    assert "'training.nodes' is 'two'" in fails(project, "--set", "training.nodes=two", code=2)


def test_a_store_that_is_away(project: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    message = fails(
        project,
        code=75,
        GOLDENPATH_STORE="s3://lake/team",
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
        AWS_ACCESS_KEY_ID="a",
        AWS_SECRET_ACCESS_KEY="not-to-be-shown",
    )
    assert "s3://lake/team" in message
    assert "not-to-be-shown" not in message


def test_a_store_without_credentials(project: Path) -> None:
    message = fails(
        project, code=2, GOLDENPATH_STORE="s3://lake", AWS_EC2_METADATA_DISABLED="true", HOME=str(project)
    )
    assert "No credentials" in message


def test_an_entry_point_that_is_not_there(project: Path) -> None:
    message = fails(project, "--set", "training.entry_point=trian.py", code=2)
    assert "trian.py" in message
    assert "train.py" in message


def test_a_trainer_that_fails_shows_its_last_lines(project: Path) -> None:
    (project / "train.py").write_text("import sys\nprint('no such column: age')\nsys.exit(3)\n")
    message = fails(project, code=5)
    assert "exit code 3" in message
    assert "no such column: age" in message


def test_a_trainer_that_publishes_no_model(project: Path) -> None:
    (project / "train.py").write_text("print('done')\n")
    message = fails(project, code=5)
    assert "publish_model" in message


def test_a_metric_that_the_gate_needs_and_nobody_measured(project: Path) -> None:
    message = fails(project, "--set", "gate.rules=[{kind: floor, metric: auc, at_least: 0.5}]", code=3)
    assert "auc" in message
    assert "accuracy" in message


def test_verbose_shows_the_traceback(project: Path) -> None:
    done = subprocess.run(
        [COMMAND, "run", "train-to-serve", "-f", "none.yaml", "-v"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "There is no file none.yaml" in done.stderr
