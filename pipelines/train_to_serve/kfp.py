"""The path as a KFP pipeline: the same steps, in the same order, as ``recipe``."""

from __future__ import annotations

import inspect
from typing import Any

from kfp import dsl

from goldenpath.components.data.kfp import snapshot
from goldenpath.components.evaluation.kfp import evaluate, gate
from goldenpath.components.registry.kfp import register
from goldenpath.components.run.kfp import finish, pin
from goldenpath.components.serving.kfp import promote
from goldenpath.components.training.kfp import launch
from goldenpath.pipelines.form import written
from goldenpath.pipelines.on_kfp import KfpTasks
from goldenpath.pipelines.pods import Placement
from goldenpath.pipelines.train_to_serve.begin import PATH
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.pipelines.train_to_serve.form import fields, source_inputs
from goldenpath.pipelines.train_to_serve.kfp_begin import begin
from goldenpath.provenance import Outcome


def build(config: Config, placement: Placement | None = None) -> Any:
    """The pipeline of a configuration, for KFP's compiler.

    Args:
        config: The values of the form, and the shape of the graph.
        placement: What the pods carry; None for ``kfp.local``, which runs the tasks in this environment.
    """
    form = fields(config)

    def pipeline(*channels: Any) -> None:
        given = {field.name: channel for field, channel in zip(form, channels, strict=True)}
        _Graph(config, KfpTasks(placement=placement), given).draw()

    pipeline.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=field.default,
                annotation=field.type,
            )
            for field in form
        ]
    )
    pipeline.__doc__ = "From a training entry point to a model in service, or a reason why not.\n\nArgs:\n"
    pipeline.__doc__ += "".join(f"    {field.name}: {field.doc}\n" for field in form)
    return dsl.pipeline(name=PATH)(pipeline)


class _Graph:
    """Draws the graph: each method is a stage of the recipe."""

    def __init__(self, config: Config, tasks: KfpTasks, given: dict[str, Any]) -> None:
        self.config = config
        self.step = tasks.step
        self.given = given
        self.source = ""
        self.datasets: dict[str, Any] = {}
        self.service: Any = ""
        self.pins: Any = None

    def draw(self) -> None:
        """The whole path."""
        begun = self.begin()
        self.service = begun.output
        self.snapshots(begun)
        self.pins = self.step(
            pin(
                model=self.given["model"],
                datasets=self.datasets,
                source=self.source,
                service=self.service,
                if_changed=self.given["if_changed"],
            ),
            "pin",
            "run.pin",
        )
        with dsl.If(self.pins.outputs["unchanged"] == True, name="unchanged"):  # noqa: E712  (KFP's own ==)
            self.finish(Outcome.UNCHANGED.value, same_as=self.pins.outputs["same_as"])
        with dsl.Else(name="changed"):
            self.train_and_judge()

    def begin(self) -> Any:
        """Checks the form before anything is read."""
        data = {
            key: {
                "source": self.given[name],
                "name": self.config.data[key].name,
                "options": written(self.config.data[key].options),
            }
            for key, name in source_inputs(self.config).items()
        }
        sections = {name: self.given[name] for name in ("promotion",) if name in self.given}
        task = begin(
            model=self.given["model"],
            service=self.given["service"],
            source=self.given.get("source", ""),
            source_options=written(self.config.source_options),
            data=data,
            training=self.given["training"],
            evaluation=self.given["evaluation"],
            held_out=self.config.evaluation.dataset,
            gate=self.given["gate"],
            **sections,
        )
        return self.step(task, "begin", "begin")

    def snapshots(self, begun: Any) -> None:
        """One step for each dataset, and one for the user's code."""
        model = self.given["model"]
        for key, name in source_inputs(self.config).items():
            item = self.config.data[key]
            task = snapshot(
                source=self.given[name],
                name=item.name or f"{model}-{key}",
                options=written(item.options),
            ).after(begun)
            self.datasets[key] = self.step(task, f"snapshot-{key}", "data.snapshot").outputs["ref"]
        if self.config.source:
            task = snapshot(
                source=self.given["source"],
                name=f"{model}-source",
                options=written(self.config.source_options),
            ).after(begun)
            self.source = self.step(task, "snapshot-source", "data.snapshot").outputs["ref"]

    def train_and_judge(self) -> None:
        """Training, evaluation and the gate; then the registry and the service, or the refusal."""
        trained = self.step(
            launch(
                job=self.given["training"],
                model=self.given["model"],
                datasets={key: self.datasets[key] for key in self.config.training_data},
                source=self.source,
            ),
            "train",
            "training.launch",
            backend=self.config.training.backend,
        )
        candidate = self.evaluate("evaluate-candidate", trained.outputs["model"])
        champion = self.pins.outputs["champion"]
        with dsl.If(champion != "", name="with-champion"):
            held = self.evaluate("evaluate-champion", champion)
            against = self.gate(candidate, champion=held.outputs["evaluation"])
        with dsl.Else(name="first-model"):
            alone = self.gate(candidate)
        verdict, summary, document = (
            dsl.OneOf(against.outputs[name], alone.outputs[name]) for name in ("verdict", "summary", "gate")
        )
        with dsl.If(verdict == "passed", name="passed"):
            self.bring_into_service(trained, candidate, document)
        with dsl.Else(name="not-passed"):
            self.finish(verdict, reason=summary)

    def bring_into_service(self, trained: Any, candidate: Any, document: Any) -> None:
        """Registers and promotes a model that passed."""
        registered = self.step(
            register(
                model=trained.outputs["model"],
                name=self.given["model"],
                evaluation=candidate.outputs["evaluation"],
                gate=document,
            ),
            "register",
            "registry.register",
        )
        if self.config.promotion is None:
            self.finish(Outcome.REGISTERED.value).after(registered)
            return
        promoted = self.step(
            promote(
                model=registered.outputs["model"],
                service=self.service,
                plan=self.given["promotion"],
                expected_champion=self.pins.outputs["champion"],
            ),
            "promote",
            "serving.promote",
        )
        self.finish(promoted.outputs["outcome"], reason=promoted.outputs["reason"])

    def evaluate(self, step: str, model: Any) -> Any:
        """Evaluates a model on the held-out dataset."""
        task = evaluate(
            job=self.given["evaluation"],
            model=model,
            dataset=self.datasets[self.config.evaluation.dataset],
            source=self.source,
        )
        return self.step(task, step, "evaluation.evaluate", backend=self.config.evaluation.backend)

    def gate(self, candidate: Any, **champion: Any) -> Any:
        """Judges the candidate."""
        task = gate(candidate=candidate.outputs["evaluation"], policy=self.given["gate"], **champion)
        return self.step(task, "gate", "evaluation.gate")

    def finish(self, outcome: Any, **more: Any) -> Any:
        """Ends a branch."""
        return self.step(finish(outcome=outcome, **more), "finish", "run.finish")
