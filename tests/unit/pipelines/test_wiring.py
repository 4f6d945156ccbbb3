"""Where the paths lead: with the same results of its steps, each engine does what the recipe does.

The workflow is followed here by Argo's rules for depends, when and parameters, and its scripts are run
by Hera's runner; KFP's pipeline is run by ``kfp.local`` in ``tests/local/pipelines``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hera.workflows._runner.util import _runner

from goldenpath import settings
from goldenpath.journal import Journal
from goldenpath.pipelines.pods import Placement
from goldenpath.pipelines.train_to_serve.argo import build
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.store import open_store
from goldenpath.submit import LoadedPath, run_path
from goldenpath.testing.canned import canned, told

CASES = yaml.safe_load((Path(__file__).parents[2] / "data" / "train_to_serve_cases.yaml").read_text())

Values = dict[str, str]
_OUTPUT = re.compile(r"\{\{tasks\.([\w-]+)\.outputs\.parameters\.(\w+)\}\}")
_FORM = re.compile(r"\{\{workflow\.parameters\.(\w+)\}\}")
_OBJECT = re.compile(r"'([\w-]+)': tasks\['([\w-]+)'\]\.outputs\.parameters\.(\w+)")


class Argo:
    """Follows a workflow: a task runs, is skipped by its ``when`` or omitted by its ``depends``."""

    def __init__(self, spec: Any, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.templates = {t.name: t for t in spec.templates}
        self.form = {p.name: p.value for p in spec.arguments.parameters}
        self.tasks = self.templates[spec.entrypoint].dag.tasks
        self.status: Values = {}
        self.outputs: dict[str, Values] = {}
        self.folder = outputs
        self.monkeypatch = monkeypatch

    def run(self) -> None:
        waiting = list(self.tasks)
        while waiting:
            ready = [task for task in waiting if self.needs(task) <= self.status.keys()]
            assert ready, f"no task can run: {[task.name for task in waiting]}"
            for task in ready:
                waiting.remove(task)
                self.status[task.name] = self.do(task)

    def needs(self, task: Any) -> set[str]:
        return set(re.findall(r"([\w-]+)\.(?:Succeeded|Skipped)", task.depends or ""))

    def do(self, task: Any) -> str:
        terms = re.sub(
            r"([\w-]+)\.(Succeeded|Skipped)",
            lambda term: str(self.status[term[1]] == term[2]),
            task.depends or "True",
        )
        template = self.templates[task.template]
        # Argo gives the outputs of a task that did not run as empty texts.
        self.outputs[task.name] = {p.name: "" for p in template.outputs.parameters}
        if not eval(terms.replace("&&", "and").replace("||", "or")):
            return "Omitted"
        if task.when is not None:
            condition = self.value(task.when).replace("true", "True").replace("false", "False")
            if not eval(condition):
                return "Skipped"
        given = {p.name: self.value(p.value) for p in task.arguments.parameters}
        self.outputs[task.name] = self.script(template, given)
        return "Succeeded"

    def script(self, template: Any, given: Values) -> Values:
        declared = {p.name: p.default for p in template.inputs.parameters}
        assert given.keys() <= declared.keys()
        inputs = declared | given
        assert None not in inputs.values(), f"{template.name} lacks an input: {inputs}"
        for entry in template.script.env:
            self.monkeypatch.setenv(entry.name, entry.value.replace("{{workflow.uid}}", "run-argo"))
        self.monkeypatch.setenv("hera__outputs_directory", str(self.folder / template.name))
        entrypoint = template.script.args[template.script.args.index("-e") + 1]
        _runner(entrypoint, [{"name": name, "value": value} for name, value in inputs.items()])
        written = {p.name: p.value_from.path for p in template.outputs.parameters}
        root = "/tmp/hera-outputs"
        return {
            name: (self.folder / template.name / Path(path).relative_to(root)).read_text()
            for name, path in written.items()
        }

    def value(self, text: str) -> str:
        """A text with what it refers to."""
        if text.startswith("{{=toJson({"):
            pairs = _OBJECT.findall(text)
            return json.dumps({key: self.outputs[task][name] for key, task, name in pairs})
        text = _FORM.sub(lambda match: self.form[match[1]], text)
        return _OUTPUT.sub(lambda match: self.outputs[match[1]][match[2]], text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOLDENPATH_STORE", (tmp_path / "store").as_uri())
    return tmp_path


@pytest.mark.parametrize("name", CASES["cases"])
def test_the_workflow_does_what_the_recipe_does(
    name: str,
    config: Config,
    placed: Callable[..., Placement],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = CASES["cases"][name]
    config = config.model_copy(update={"source": "s3://lake/code"} | case.get("config", {}))
    path = LoadedPath(
        name="train-to-serve",
        package="goldenpath.pipelines.train_to_serve",
        config=config,
        file=project / "path.yaml",
    )
    journal = Journal(open_store(settings.load().store))
    with canned(CASES["always"] | case.get("results", {})):
        by_recipe = run_path(path, settings=settings.load())
        spec = build(config, placed("argo")).build().spec
        Argo(spec, project / "outputs", monkeypatch).run()
    assert by_recipe.outcome == case["outcome"]
    assert told(journal, "run-argo") == told(journal, by_recipe.run)
    begun, other = journal.run("run-argo"), journal.run(by_recipe.run)
    assert begun is not None
    assert other is not None
    assert (begun.config_digest, begun.config) == (other.config_digest, other.config)
    assert (begun.engine, begun.path) == ("argo", "train-to-serve")
