"""The generated faces on this machine: KFP's subprocess runner, Hera's runner, and plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goldenpath import settings
from goldenpath.journal import Journal
from goldenpath.provenance import Outcome
from goldenpath.store import open_store

pytestmark = pytest.mark.local


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("GOLDENPATH_STORE", (tmp_path / "store").as_uri())
    monkeypatch.setenv("GOLDENPATH_RUN", "run-1")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    return Journal(open_store(settings.load().store))


def test_kfp_runs_a_face_in_a_process_of_its_own(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kfp import local

    from goldenpath.components.data.kfp import diff, snapshot

    local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(tmp_path / "root"))
    refs = []
    for name in ("one", "two"):
        monkeypatch.setenv("GOLDENPATH_STEP", f"snapshot-{name}")
        refs.append(snapshot(source=str(tmp_path / name), name="letters").outputs["ref"])
    monkeypatch.setenv("GOLDENPATH_STEP", "diff")
    outputs = diff(old=refs[0], new=refs[1]).outputs
    assert outputs["changed"] == 1
    assert {step.step for step in journal.steps("run-1")} == {"snapshot-one", "snapshot-two", "diff"}


def test_hera_s_runner_runs_a_face_as_a_pod_does(journal: Journal, tmp_path: Path) -> None:
    arguments = tmp_path / "parameters.json"
    reason = 'it "passed", {{surely}}'
    given = {"outcome": "promoted", "reason": reason, "same_as": ""}
    arguments.write_text(json.dumps([{"name": name, "value": value} for name, value in given.items()]))
    outputs = tmp_path / "outputs"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "hera.workflows.runner",
            "-e",
            "goldenpath.components.run.hera:finish",
            arguments,
        ],
        env=os.environ | {"hera__outputs_directory": str(outputs), "GOLDENPATH_STEP": "finish"},
        check=True,
        capture_output=True,
    )
    assert (outputs / "parameters" / "outcome").read_text() == "promoted"
    end = journal.outcome("run-1")
    assert end is not None
    assert (end.outcome, end.reason) == (Outcome.PROMOTED, reason)


def test_a_hera_face_outside_a_context_is_the_component(journal: Journal, tmp_path: Path) -> None:
    from goldenpath.components.data.hera import snapshot

    outputs = snapshot(source=str(tmp_path / "one"), name="letters", options={"preset": "code"})
    recorded = journal.result("run-1", "snapshot")
    assert recorded is not None
    assert outputs.ref == recorded.outputs["ref"]
    assert recorded.inputs["options"]["preset"] == "code"
