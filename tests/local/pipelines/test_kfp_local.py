"""The engine ``kfp-local``: the real KFP pipeline in real processes, with canned work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from goldenpath import settings
from goldenpath.errors import NotFound
from goldenpath.journal import Journal
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.provenance import Outcome
from goldenpath.store import open_store
from goldenpath.submit import LoadedPath, run_path
from goldenpath.testing.canned import canned, for_processes, told

pytestmark = pytest.mark.local

CASES = yaml.safe_load((Path(__file__).parents[2] / "data" / "train_to_serve_cases.yaml").read_text())
CONFIG = {
    "path": "train-to-serve",
    "model": "digits",
    "source": "s3://lake/code",
    "data": {"train": {"source": "s3://lake/train"}, "test": {"source": "s3://lake/test"}},
    "training": {"entry_point": "train.py", "params": {"epochs": 3, "rate": 0.1, "layers": [64, 32]}},
    "evaluation": {"evaluator": "evaluate:evaluate"},
}


def loaded(changes: dict[str, Any], tmp_path: Path) -> LoadedPath:
    return LoadedPath(
        name="train-to-serve",
        package="goldenpath.pipelines.train_to_serve",
        config=Config.model_validate(CONFIG | changes),
        file=tmp_path / "path.yaml",
    )


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("GOLDENPATH_STORE", (tmp_path / "store").as_uri())
    return Journal(open_store(settings.load().store))


def in_processes(results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "canned"
    folder.mkdir()
    before = os.environ.get("PYTHONPATH", "")
    for name, value in for_processes(results, folder).items():
        monkeypatch.setenv(name, f"{value}{os.pathsep}{before}")


@pytest.mark.parametrize(
    "name", ["better-than-the-champion", "worse-than-the-champion", "nothing-changed", "registered-only"]
)
def test_the_pipeline_does_what_the_recipe_does(
    name: str, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES["cases"][name]
    path, results = loaded(case.get("config", {}), tmp_path), CASES["always"] | case.get("results", {})
    with canned(results):
        by_recipe = run_path(path, settings=settings.load())
    in_processes(results, tmp_path, monkeypatch)
    by_kfp = run_path(path, settings=settings.load(), engine="kfp-local", force=True)
    assert by_kfp.outcome == by_recipe.outcome == case["outcome"]
    assert by_kfp.reason == by_recipe.reason
    recorded, expected = told(journal, by_kfp.run), told(journal, by_recipe.run)
    # By force, nothing is asked of earlier runs: the one input that differs.
    recorded["pin"][1]["if_changed"] = True
    assert recorded == expected
    run = journal.run(by_kfp.run)
    assert run is not None
    assert run.engine == "kfp-local"


def test_what_the_recipe_answered_is_unchanged_for_the_pipeline(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("train", "test", "code"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(name)
    sources = {key: {"source": key} for key in ("train", "test")}
    path = loaded({"data": sources, "source": "code"}, tmp_path)
    work = ("train", "evaluate-candidate", "gate")
    results = {step: CASES["always"][step] for step in work} | {"gate": {"verdict": "refused"}}
    with canned(results):
        by_recipe = run_path(path, settings=settings.load())
    assert by_recipe.outcome is Outcome.REFUSED
    # Snapshots and the pin are real, and nothing else is reached.
    in_processes({}, tmp_path, monkeypatch)
    by_kfp = run_path(path, settings=settings.load(), engine="kfp-local")
    assert by_kfp.outcome is Outcome.UNCHANGED
    assert by_kfp.same_as == by_recipe.run


def test_the_error_of_a_task_is_the_error_of_the_run(
    journal: Journal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = {"train": {"source": "missing"}, "test": {"source": "missing"}}
    path = loaded({"data": missing, "source": ""}, tmp_path)
    with pytest.raises(NotFound, match="missing"):
        run_path(path, settings=settings.load(), engine="kfp-local")
    assert capsys.readouterr().out == ""
    state = settings.load().state_dir / "runs"
    (run,) = [folder.name for folder in state.iterdir()]
    assert "NotFound" in (state / run / "kfp" / "log.txt").read_text()
    end = journal.outcome(run)
    assert end is not None
    assert end.outcome is Outcome.FAILED


def test_the_run_s_variables_do_not_stay_in_this_process(journal: Journal, tmp_path: Path) -> None:
    before = dict(os.environ)
    path = loaded({"data": {"test": {"source": "missing"}}, "source": ""}, tmp_path)
    with pytest.raises(NotFound):
        run_path(path, settings=settings.load(), engine="kfp-local")
    assert dict(os.environ) == before
