from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldenpath.cli.judge import app
from goldenpath.errors import DataDamaged, InputError
from goldenpath.serving import ErrorRate, PromotionPlan
from goldenpath.serving.judge.record import record_lines
from goldenpath.serving.judge.samples import Arm, Sample
from goldenpath.serving.plan import judge_spec

PLAN = PromotionPlan(steps=(50.0,), metrics=(ErrorRate(),), warmup_s=0)


def record(folder: Path, canary_errors: float, *, looks: int = 20) -> Path:
    def arm(share: float, total: float) -> Arm:
        return Arm(requests=total, metrics={"error rate": (share * total, total)})

    samples = [
        Sample(at=float(t), stable=arm(0.0, 100.0 * t), canary=arm(canary_errors, 100.0 * t))
        for t in range(looks)
    ]
    path = folder / "samples.jsonl"
    path.write_text(record_lines(judge_spec(PLAN, 0), samples))
    return path


@pytest.mark.parametrize(
    ("errors", "looks", "verdict", "code"),
    [(0.0, 20, "pass", 0), (0.2, 20, "fail", 4), (0.0, 2, "inconclusive", 3)],
)
def test_replay_ends_by_the_verdict(
    tmp_path: Path, errors: float, looks: int, verdict: str, code: int
) -> None:
    path = record(tmp_path, errors, looks=looks)
    done = CliRunner().invoke(app, ["replay", str(path), "--json"])
    assert done.exit_code == code
    assert json.loads(done.stdout)["verdict"] == verdict
    assert CliRunner().invoke(app, ["replay", str(path)]).stdout.startswith(f"{verdict}: ")


def test_replay_of_what_is_no_record_is_refused(tmp_path: Path) -> None:
    runner = CliRunner()
    with pytest.raises(InputError, match="cannot be read"):
        runner.invoke(app, ["replay", str(tmp_path / "none")], catch_exceptions=False)
    (tmp_path / "odd").write_text("{}\n")
    with pytest.raises(DataDamaged, match="Line 1"):
        runner.invoke(app, ["replay", str(tmp_path / "odd")], catch_exceptions=False)


def test_simulate_prints_every_judge() -> None:
    options = ["--rollouts", "100", "--looks", "10", "--error-rate", "0.01", "--harm", "0.05"]
    found = json.loads(CliRunner().invoke(app, ["simulate", *options, "--rps", "100", "--json"]).stdout)
    assert found["requests"] == 200
    assert found["judges"][0]["judge"] == "goldenpath"
    assert found["judges"][0]["detected"] > 0.9
    text = CliRunner().invoke(app, ["simulate", *options]).stdout
    assert all(row["judge"] in text for row in found["judges"])
