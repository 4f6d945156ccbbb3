"""The path as an Argo WorkflowTemplate: the same steps, in the same order, as ``recipe``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hera.workflows import DAG, Parameter, Task, WorkflowTemplate

from goldenpath.components.data.hera import snapshot
from goldenpath.components.evaluation.hera import evaluate, gate
from goldenpath.components.registry.hera import register
from goldenpath.components.run.hera import finish, pin
from goldenpath.components.serving.hera import promote
from goldenpath.components.training.hera import launch
from goldenpath.pipelines.form import Field, written
from goldenpath.pipelines.on_argo import template
from goldenpath.pipelines.pods import Placement
from goldenpath.pipelines.train_to_serve.argo_begin import begin
from goldenpath.pipelines.train_to_serve.begin import PATH
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.pipelines.train_to_serve.form import fields, source_inputs
from goldenpath.provenance import Outcome


def build(config: Config, placement: Placement) -> WorkflowTemplate:
    """The WorkflowTemplate of a configuration: Argo's UI and ``argo submit --from`` make a form of it.

    Args:
        config: The values of the form, and the shape of the graph.
        placement: What the pods carry.
    """
    form = fields(config)
    with WorkflowTemplate(
        name=PATH,
        entrypoint=PATH,
        arguments=[Parameter(name=f.name, value=_text(f), description=f.doc) for f in form],
    ) as workflow:
        templates = _templates(config, placement)
        with DAG(name=PATH):
            _Graph(config, templates, {f.name: f"{{{{workflow.parameters.{f.name}}}}}" for f in form}).draw()
    return workflow


def _text(field: Field) -> str:
    return str(field.default) if field.type is str else json.dumps(field.default)


def _templates(config: Config, placement: Placement) -> dict[str, Any]:
    """One template a step."""
    training, evaluation = config.training.backend, config.evaluation.backend
    steps = {
        "begin": (begin, "begin", ""),
        **{f"snapshot-{key}": (snapshot, "data.snapshot", "") for key in config.data},
        **({"snapshot-source": (snapshot, "data.snapshot", "")} if config.source else {}),
        "pin": (pin, "run.pin", ""),
        "train": (launch, "training.launch", training),
        "evaluate-candidate": (evaluate, "evaluation.evaluate", evaluation),
        "evaluate-champion": (evaluate, "evaluation.evaluate", evaluation),
        "gate": (gate, "evaluation.gate", ""),
        "register": (register, "registry.register", ""),
        **({"promote": (promote, "serving.promote", "")} if config.promotion else {}),
        "finish": (finish, "run.finish", ""),
    }
    return {
        step: template(face, step, component, placement, backend=backend)
        for step, (face, component, backend) in steps.items()
    }


class _Graph:
    """Draws the graph: each method is a stage of the recipe."""

    def __init__(self, config: Config, templates: dict[str, Any], given: dict[str, str]) -> None:
        self.config = config
        self.templates = templates
        self.given = given
        self.source = ""
        self.datasets: dict[str, str] = {}
        """For each key the task that takes its snapshot."""

    def draw(self) -> None:
        """The whole path."""
        self.task("begin", self.form())
        self.snapshots()
        self.task(
            "pin",
            {
                "model": self.given["model"],
                "datasets": self.references(self.config.data),
                "source": self.source,
                "service": output("begin", "service"),
                "if_changed": self.given["if_changed"],
            },
            after=[*self.datasets.values(), *(["snapshot-source"] if self.source else [])],
        )
        same = {"outcome": Outcome.UNCHANGED.value, "same_as": output("pin", "same_as")}
        self.task("finish", same, name="finish-unchanged", after=["pin"], when=f"{_UNCHANGED} == true")
        self.train_and_judge()
        self.bring_into_service()

    def form(self) -> dict[str, Any]:
        """What the first task checks."""
        data = {
            key: {
                "source": self.given[name],
                "name": self.config.data[key].name,
                "options": written(self.config.data[key].options),
            }
            for key, name in source_inputs(self.config).items()
        }
        sections = ("model", "service", "training", "evaluation", "gate", "promotion")
        return {
            **{name: self.given[name] for name in sections if name in self.given},
            "source": self.given.get("source", ""),
            "source_options": json.dumps(written(self.config.source_options)),
            "data": json.dumps(data),
            "held_out": self.config.evaluation.dataset,
        }

    def snapshots(self) -> None:
        """One step for each dataset, and one for the user's code."""
        model = self.given["model"]
        for key, name in source_inputs(self.config).items():
            item = self.config.data[key]
            self.datasets[key] = f"snapshot-{key}"
            arguments = {
                "source": self.given[name],
                "name": item.name or f"{model}-{key}",
                "options": json.dumps(written(item.options)),
            }
            self.task(f"snapshot-{key}", arguments, after=["begin"])
        if self.config.source:
            self.source = output("snapshot-source", "ref")
            arguments = {
                "source": self.given["source"],
                "name": f"{model}-source",
                "options": json.dumps(written(self.config.source_options)),
            }
            self.task("snapshot-source", arguments, after=["begin"])

    def train_and_judge(self) -> None:
        """Training, evaluation and the gate; a refusal ends here."""
        job = {
            "job": self.given["training"],
            "model": self.given["model"],
            "datasets": self.references(self.config.training_data),
            "source": self.source,
        }
        self.task("train", job, after=["pin"], when=f"{_UNCHANGED} == false")
        held_out = output(self.datasets[self.config.evaluation.dataset], "ref")
        evaluation = {"job": self.given["evaluation"], "dataset": held_out, "source": self.source}
        self.task("evaluate-candidate", evaluation | {"model": output("train", "model")}, after=["train"])
        self.task(
            "evaluate-champion",
            evaluation | {"model": output("pin", "champion")},
            after=["train"],
            when=f"'{output('pin', 'champion')}' != ''",
        )
        judged = {
            "candidate": output("evaluate-candidate", "evaluation"),
            # Argo 4 gives the outputs of a task that was skipped as empty texts.
            "champion": output("evaluate-champion", "evaluation"),
            "policy": self.given["gate"],
        }
        self.task("gate", judged, depends=_BOTH_EVALUATED)
        refused = {"outcome": output("gate", "verdict"), "reason": output("gate", "summary")}
        self.task("finish", refused, name="finish-not-passed", after=["gate"], when=f"{_VERDICT} != 'passed'")

    def bring_into_service(self) -> None:
        """Registers and promotes a model that passed."""
        entry = {
            "model": output("train", "model"),
            "name": self.given["model"],
            "evaluation": output("evaluate-candidate", "evaluation"),
            "gate": output("gate", "gate"),
        }
        self.task("register", entry, after=["gate"], when=f"{_VERDICT} == 'passed'")
        if self.config.promotion is None:
            self.task("finish", {"outcome": Outcome.REGISTERED.value}, after=["register"])
            return
        promotion = {
            "model": output("register", "model"),
            "service": output("begin", "service"),
            "plan": self.given["promotion"],
            "expected_champion": output("pin", "champion"),
        }
        self.task("promote", promotion, after=["register"])
        end = {"outcome": output("promote", "outcome"), "reason": output("promote", "reason")}
        self.task("finish", end, after=["promote"])

    def references(self, keys: Iterable[str]) -> str:
        """A JSON object of the datasets' references, put together by Argo when they are there."""
        pairs = (f"'{key}': tasks['{self.datasets[key]}'].outputs.parameters.ref" for key in keys)
        return "{{=toJson({" + ", ".join(pairs) + "})}}"

    def task(
        self,
        step: str,
        arguments: dict[str, Any],
        *,
        name: str = "",
        after: Iterable[str] = (),
        depends: str = "",
        when: str | None = None,
    ) -> None:
        """One task; it runs only if those before it succeeded, and is omitted where they were skipped."""
        Task(
            name=name or step,
            template=self.templates[step],
            arguments=arguments,
            depends=depends or " && ".join(f"{each}.Succeeded" for each in after) or None,
            when=when,
        )


def output(task: str, name: str) -> str:
    """A task's output, as Argo refers to it."""
    return f"{{{{tasks.{task}.outputs.parameters.{name}}}}}"


_UNCHANGED = output("pin", "unchanged")
_VERDICT = f"'{output('gate', 'verdict')}'"
_BOTH_EVALUATED = "evaluate-candidate.Succeeded && (evaluate-champion.Succeeded || evaluate-champion.Skipped)"
