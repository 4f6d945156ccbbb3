from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldenpath.cli.serve import app
from goldenpath.errors import ConfigError, NotFound
from goldenpath.serving import PromotionPlan
from goldenpath.serving.rollout.machine import Event, Phase
from goldenpath.serving.rollout.records import Ending, Ledger, Opening, Transition
from goldenpath.store import Store

NOW = datetime(2026, 12, 1, 10, 30, tzinfo=UTC)


@pytest.fixture
def ledger(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """The configured store's rollouts: one that ended, one under way."""
    monkeypatch.setenv("GOLDENPATH_STORE", file_store.url)
    found = Ledger(file_store, "toy")
    plan = PromotionPlan()
    first = found.open(Opening(service="toy", number=0, run="r1", model="toy:1", plan=plan, opened_at=NOW))
    found.finish(
        Ending(
            opening=first,
            transitions=(),
            outcome="promoted",
            reason="it answers",
            champion="toy:1",
            url="http://127.0.0.1:1",
            report="rollouts/toy/0000000001/report.html",
            finished_at=NOW,
        )
    )
    second = found.open(Opening(service="toy", number=0, run="r2", model="toy:2", plan=plan, opened_at=NOW))
    step = Transition(sequence=1, event=Event.READY, phase=Phase.STEP, at=NOW)
    found.append(second.number, step)
    return found


def test_history_tells_every_rollout_the_newest_first(ledger: Ledger) -> None:
    rows = json.loads(CliRunner().invoke(app, ["history", "toy", "--json"]).stdout)
    assert [(row["number"], row["outcome"]) for row in rows] == [(2, "unfinished"), (1, "promoted")]
    assert rows[1]["report"] == f"{ledger.store.url}/rollouts/toy/0000000001/report.html"
    assert "in step" in CliRunner().invoke(app, ["history", "toy"]).stdout


def test_what_does_not_exist_is_told(ledger: Ledger) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["status"]).stdout == "No service runs on this machine.\n"
    for command in (["history", "none"], ["status", "none"], ["stop", "none"]):
        with pytest.raises(NotFound, match="none"):
            runner.invoke(app, command, catch_exceptions=False)
    with pytest.raises(NotFound, match="Nothing was ever promoted"):
        runner.invoke(app, ["rollback", "none", "--reason", "x"], catch_exceptions=False)


def test_a_wrong_plan_is_refused_before_anything_starts(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("steps: [50, 20]\n")
    with pytest.raises(ConfigError, match="the steps must rise"):
        CliRunner().invoke(
            app, ["promote", "models/toy:2", "toy", "--plan", f"{tmp_path}/plan.yaml"], catch_exceptions=False
        )
