"""The whole path on real parts: torchrun, MLflow, Envoy and KServe's model servers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = [pytest.mark.local, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "digits"
COMMAND = str(Path(sys.executable).parent / "goldenpath")
BASELINE = ("--set", "training.params.hidden=8", "--set", "training.params.epochs=8")


class Project:
    """A user's folder with the digits example in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
        subprocess.run([sys.executable, "prepare.py"], cwd=folder, check=True)

    def goldenpath(self, *arguments: str, code: int = 0) -> str:
        """Runs the command; its standard output. The exit code must be ``code``."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("GOLDENPATH_", "MLFLOW_"))}
        done = subprocess.run(
            [COMMAND, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def run(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """Runs the path; the result."""
        out = self.goldenpath("run", "train-to-serve", "-f", "path.yaml", "--json", *arguments, code=code)
        found: dict[str, Any] = json.loads(out)
        return found

    def steps(self, run: str) -> dict[str, dict[str, Any]]:
        """The records of a run's steps."""
        folder = self.folder / ".goldenpath" / "store" / "runs" / run / "steps"
        return {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/result.json")}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose service has two promotions behind it."""
    found = Project(tmp_path_factory.mktemp("digits") / "project")
    try:
        yield found
    finally:
        found.goldenpath("serve", "stop", "digits")


@pytest.fixture(scope="module")
def baseline(project: Project) -> dict[str, Any]:
    """The first champion."""
    return project.run(*BASELINE)


@pytest.fixture(scope="module")
def champion(project: Project, baseline: dict[str, Any]) -> dict[str, Any]:
    """The second champion, which had to beat the first."""
    assert baseline["outcome"] == "promoted"
    return project.run()


def ask(url: str) -> httpx.Response:
    """One request with one blank scan."""
    return httpx.post(f"{url}/v1/models/digits:predict", json={"instances": [[0.0] * 64]}, timeout=10)


class Load:
    """Asks the service all the time, and counts answers by their code."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.codes: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._stop.wait(0.05):
            self.codes.append(ask(self.url).status_code)


def test_a_first_model_becomes_champion_by_the_floors_alone(baseline: dict[str, Any]) -> None:
    assert baseline["outcome"] == "promoted"
    assert baseline["compared_with"] == ""
    assert "/models/digits:1@sha256:" in baseline["model"]
    assert baseline["champion"] == baseline["model"]


def test_a_better_model_replaces_it(baseline: dict[str, Any], champion: dict[str, Any]) -> None:
    assert champion["outcome"] == "promoted"
    assert champion["compared_with"] == baseline["model"]
    assert "/models/digits:2@sha256:" in champion["model"]
    assert champion["metrics"]["accuracy"] > champion["compared_metrics"]["accuracy"]
    answer = ask(champion["url"])
    assert (answer.status_code, len(answer.json()["predictions"])) == (200, 1)
    assert Path(champion["report"].removeprefix("file://")).read_text().startswith("<!doctype html>")


def test_run_again_it_says_that_nothing_changed(project: Project, champion: dict[str, Any]) -> None:
    again = project.run()
    assert (again["outcome"], again["same_as"]) == ("unchanged", champion["run"])
    for key in ("model", "dataset", "champion", "report"):
        assert again[key] == champion[key]
    assert set(project.steps(again["run"])) == {
        "snapshot-train",
        "snapshot-test",
        "snapshot-source",
        "pin",
        "finish",
    }


def test_everything_that_made_the_champion_is_in_its_trace(
    project: Project, champion: dict[str, Any]
) -> None:
    trace = json.loads(project.goldenpath("trace", "models:/digits@champion", "--json"))
    for part in ("code", "data", "image", "config", "checkpoints", "evaluation", "rollout"):
        assert trace[part], part
    assert champion["dataset"] in json.dumps(trace["data"])
    project.goldenpath("trace", "models:/digits@champion", "--verify")


def test_a_worse_model_stops_at_the_gate(project: Project, champion: dict[str, Any]) -> None:
    worse = project.run("--set", "training.params.hidden=2", "--set", "training.params.epochs=4", code=3)
    assert worse["outcome"] == "refused"
    assert worse["champion"] == champion["model"]
    assert "register" not in project.steps(worse["run"])
    assert ask(champion["url"]).status_code == 200


@pytest.mark.parametrize("fault", ["error", "slow"])
def test_a_bad_canary_is_rolled_back_and_the_champion_never_stops(
    project: Project, champion: dict[str, Any], fault: str
) -> None:
    with Load(champion["url"]) as load:
        bad = project.run("--set", f"training.params.fault={fault}", code=4)
    assert bad["outcome"] == "rolled_back"
    assert bad["champion"] == champion["model"]
    assert [ask(champion["url"]).status_code for _ in range(20)] == [200] * 20
    # While the bad canary had its share some requests met it; the champion's own never failed.
    good = load.codes.count(200)
    assert good > len(load.codes) / 2


def test_changed_code_is_a_new_run(project: Project, champion: dict[str, Any]) -> None:
    (project.folder / "note.py").write_text("# a comment\n")
    changed = project.run("--set", "promotion=null")
    assert changed["outcome"] == "registered"
    assert changed["run"] != champion["run"]


def test_kfp_local_has_the_same_outcome_on_the_same_input(
    baseline: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Project(tmp_path_factory.mktemp("digits-kfp") / "project")
    try:
        result = other.run("--engine", "kfp-local", *BASELINE)
        steps = other.steps(result["run"])
    finally:
        other.goldenpath("serve", "stop", "digits")
    assert result["outcome"] == baseline["outcome"]
    assert result["metrics"] == baseline["metrics"]
    digest = result["model"].rpartition("@")[2]
    assert digest == baseline["model"].rpartition("@")[2]
    assert {"train", "evaluate-candidate", "gate", "register", "promote", "finish"} <= set(steps)
