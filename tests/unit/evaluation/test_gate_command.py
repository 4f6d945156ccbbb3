"""``goldenpath gate``: files in, a verdict and an exit code out; no store, no settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from goldenpath.cli.gate import app
from goldenpath.errors import ConfigError, InputError


def write(path: Path, wrong: int, n: int = 1000, **changed: Any) -> Path:
    label = np.arange(n) % 2
    prediction = np.where(np.arange(n) < wrong, 1 - label, label)
    pq.write_table(pa.table({"id": np.arange(n), "label": label, "prediction": prediction, **changed}), path)
    return path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_a_pass_is_0_and_leaves_nothing_but_the_report(tmp_path: Path) -> None:
    mine, other = write(tmp_path / "a.parquet", 10), write(tmp_path / "b.parquet", 10)
    done = run("--candidate", mine, "--champion", other, "--report", tmp_path / "r.html", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["verdict"] == "passed"
    assert found["rules"][0]["metric"] == "accuracy"
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(("wrong", "n", "verdict"), [(200, 1000, "refused"), (5, 60, "no_evidence")])
def test_a_refusal_and_no_evidence_are_3(tmp_path: Path, wrong: int, n: int, verdict: str) -> None:
    mine, other = write(tmp_path / "a.parquet", wrong, n), write(tmp_path / "b.parquet", 5, n)
    done = run("--candidate", mine, "--champion", other, "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["verdict"] == verdict


def test_a_policy_file_decides_alone_without_a_champion(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules:\n  - {kind: floor, metric: accuracy, at_least: 0.9}\n")
    done = run("--candidate", write(tmp_path / "a.parquet", 10), "--policy", policy)
    assert done.exit_code == 0
    assert done.stdout.startswith("passed: There is no champion")


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("rules: [{kind: floor, metric: accuracy}]", "'rules.0.floor.at_least' is missing"),
        ("rules: [", "cannot be read"),
        ("", "policy.yaml"),
    ],
)
def test_a_wrong_policy_is_2(tmp_path: Path, policy: str, message: str) -> None:
    (tmp_path / "policy.yaml").write_text(policy)
    done = run("--candidate", write(tmp_path / "a.parquet", 10), "--policy", tmp_path / "policy.yaml")
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)


def test_malformed_rows_are_2_and_named(tmp_path: Path) -> None:
    mine = write(tmp_path / "a.parquet", 10, n=3, score=[0.1, float("nan"), 0.2])
    done = run("--candidate", mine)
    assert isinstance(done.exception, InputError)
    assert "'score' is missing, NaN or infinite in 1 of 3 rows: id 1" in str(done.exception)


def test_the_whole_command_maps_an_error_to_one_line_and_a_code(tmp_path: Path) -> None:
    code = "from goldenpath.cli.main import main; main()"
    arguments = ["gate", "--candidate", str(tmp_path / "absent.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"Error: There is no file {tmp_path / 'absent.parquet'}.\n"


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    hostile = ["\x1b[2Jgone"] * 1000
    mine, other = (write(tmp_path / name, 10, slice_s=hostile) for name in ("a.parquet", "b.parquet"))
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{kind: slices}]")
    done = run("--candidate", mine, "--champion", other, "--policy", policy)
    assert "[2Jgone" in done.stdout
    assert "\x1b" not in done.stdout
