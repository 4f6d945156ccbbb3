"""Evaluations as real jobs of this machine, through the components, and what the gate makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldenpath import registry
from goldenpath.components.data.snapshot import snapshot
from goldenpath.components.evaluation.evaluate import evaluate
from goldenpath.components.evaluation.gate import gate
from goldenpath.data import SnapshotOptions
from goldenpath.errors import RefError, UserProgramFailed
from goldenpath.evaluation.document import get_evaluation, get_rows
from goldenpath.evaluation.parquet import parse_rows
from goldenpath.settings import Settings
from goldenpath.steps import RunContext, in_run

pytestmark = pytest.mark.local

EVALUATOR = """
from pathlib import Path
import json

def score(model: Path, dataset: Path, threshold: float = 0.5):
    weight = json.loads((model / "model.json").read_text())["weight"]
    rows = []
    for number, line in enumerate((dataset / "test.csv").read_text().split()):
        value, label = map(float, line.split(","))
        probability = min(1.0, max(0.0, value * weight))
        rows.append({"id": number, "label": int(label), "prediction": int(probability > threshold),
                     "score": probability, "slice_half": "low" if number < 300 else "high"})
    right = sum(row["label"] == row["prediction"] for row in rows)
    return {"accuracy": right / len(rows), "latency_ms": 3}, rows

def broken(model, dataset):
    raise RuntimeError("the evaluator's own fault")

def undefined(model, dataset):
    return {"loss": float("nan")}

def silent(model, dataset):
    raise SystemExit(0)

def metrics_alone(model, dataset):
    return {"bleu": 20.5}
"""
MLMODEL = """
signature:
  inputs: '[{"type": "double", "name": "value", "required": true}]'
  outputs: '[{"type": "tensor", "tensor-spec": {"dtype": "int64", "shape": [-1]}}]'
"""


class Project:
    """A store with a source, a dataset and two models in it."""

    def __init__(self, folder: Path, store: str) -> None:
        self.context = RunContext(
            run="r1",
            settings=Settings(store=store, tracking="", cache_dir=str(folder / "cache"), root=folder),
        )
        (folder / "code").mkdir()
        (folder / "code" / "scoring.py").write_text(EVALUATOR)
        (folder / "data").mkdir()
        lines = [f"{(n % 10) / 10},{int(n % 10 > 5)}" for n in range(600)]
        (folder / "data" / "test.csv").write_text("\n".join(lines))
        with in_run(self.context):
            self.source = snapshot.at("source")(
                source=str(folder / "code"), name="m-source", options=SnapshotOptions(preset="code")
            ).ref
            self.dataset = snapshot.at("data")(source=str(folder / "data"), name="m-test").ref
        self.good = self._model(folder, weight=1.0)
        self.bad = self._model(folder, weight=0.6)

    def _model(self, folder: Path, *, weight: float) -> str:
        model = folder / f"model-{weight}"
        model.mkdir()
        (model / "model.json").write_text(f'{{"weight": {weight}}}')
        (model / "MLmodel").write_text(MLMODEL)
        return registry.publish(model, "m", store=self.context.store)

    def evaluate(self, step: str, evaluator: str, model: str, **job: Any) -> Any:
        with in_run(self.context):
            return evaluate.at(step)(
                job={"evaluator": evaluator, **job}, model=model, dataset=self.dataset, source=self.source
            )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, (tmp_path / "store").as_uri())


def test_an_evaluation_keeps_its_metrics_rows_and_facts(project: Project) -> None:
    found = project.evaluate("evaluate-candidate", "scoring:score", project.good, params={"threshold": 0.55})
    assert found.metrics == {"accuracy": 1.0, "latency_ms": 3.0}
    assert found.n == 600
    rows = parse_rows(get_rows(found.rows), where="rows")
    assert rows.classes == (0, 1)
    assert rows.slices["half"].values == ("high", "low")
    document = get_evaluation(found.evaluation)
    assert document.model == project.good
    assert document.dataset == project.dataset
    assert document.params == {"threshold": 0.55}
    assert document.signature == {"inputs": {"value": "double"}, "outputs": {"0": "int64[-1]"}}
    assert document.model_bytes == len('{"weight": 1.0}') + len(MLMODEL)


def test_a_candidate_is_judged_against_the_champion(project: Project) -> None:
    good = project.evaluate("good", "scoring:score", project.good, params={"threshold": 0.55})
    bad = project.evaluate("bad", "scoring:score", project.bad, params={"threshold": 0.55})
    with in_run(project.context):
        up = gate.at("up")(candidate=good.evaluation, champion=bad.evaluation)
        down = gate.at("down")(candidate=bad.evaluation, champion=good.evaluation)
        alone = gate.at("alone")(
            candidate=good.evaluation,
            policy={"rules": [{"kind": "floor", "metric": "accuracy", "at_least": 0.9}]},
        )
    assert (up.verdict, down.verdict, alone.verdict) == ("passed", "refused", "passed")
    html = project.context.store.get("runs/r1/steps/down/report.html").decode()
    assert "From right to wrong" in html


def test_metrics_alone_are_an_evaluation_without_rows(project: Project) -> None:
    found = project.evaluate("evaluate", "scoring:metrics_alone", project.good)
    assert (found.metrics, found.rows, found.n) == ({"bleu": 20.5}, "", 0)


@pytest.mark.parametrize(
    ("evaluator", "job", "message"),
    [
        ("scoring:broken", {}, "RuntimeError: the evaluator's own fault"),
        ("scoring:undefined", {}, "scoring:undefined returned nan for the metric 'loss'"),
        ("scoring:silent", {}, "must return from its function"),
        ("scoring:scores", {}, "Did you mean 'score'"),
        ("scorer:score", {}, "module 'scorer' was not found"),
        ("scoring:score", {"params": {"limit": 1}}, "unexpected keyword argument 'limit'"),
    ],
)
def test_a_failed_evaluator_is_told_by_its_own_words(
    project: Project, evaluator: str, job: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserProgramFailed) as raised:
        project.evaluate("evaluate", evaluator, project.good, **job)
    assert message in str(raised.value)


def test_a_reference_without_a_digest_is_refused(project: Project) -> None:
    with pytest.raises(RefError, match="has no digest"):
        project.evaluate("evaluate", "scoring:score", "models/m:1")
