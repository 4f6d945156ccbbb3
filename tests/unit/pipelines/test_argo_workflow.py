"""The compiled Argo WorkflowTemplate, as Hera's models read it, and where it leads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hera.workflows import WorkflowTemplate

from goldenpath.pipelines.on_argo import to_yaml
from goldenpath.pipelines.pods import PRIORITY_LABEL, QUEUE_LABEL, Placement
from goldenpath.pipelines.train_to_serve.argo import build
from goldenpath.pipelines.train_to_serve.config import Config

Placed = Callable[..., Placement]


def spec_of(config: Config, placement: Placement) -> Any:
    return WorkflowTemplate.from_yaml(to_yaml(build(config, placement))).build().spec


def test_it_is_read_back_as_it_was_written(config: Config, placed: Placed) -> None:
    text = to_yaml(build(config, placed("argo", "team-a")))
    again = WorkflowTemplate.from_yaml(text)
    assert f"{text.splitlines(keepends=True)[0]}{again.to_yaml()}" == text


def test_the_form_has_the_configuration_s_values(config: Config, placed: Placed) -> None:
    form = {p.name: p for p in spec_of(config, placed("argo")).arguments.parameters}
    assert form["model"].value == "digits"
    assert form["if_changed"].value == "true"
    assert json.loads(form["training"].value)["params"] == {"epochs": 3, "rate": 0.1}
    assert all(parameter.description for parameter in form.values())


def test_every_pod_has_its_step_the_run_the_settings_and_the_image(config: Config, placed: Placed) -> None:
    scripts = [t for t in spec_of(config, placed("argo")).templates if t.script]
    for template in scripts:
        environment = {entry.name: entry.value for entry in template.script.env}
        assert environment["GOLDENPATH_STEP"] == template.name
        assert environment["GOLDENPATH_RUN"] == "{{workflow.uid}}"
        assert [entry.config_map_ref.name for entry in template.script.env_from] == ["goldenpath"]
        assert template.script.image == placed("argo").image
        assert "lastRetry.status == 'Error'" in template.retry_strategy.expression


def test_only_pods_that_do_the_work_are_queued(config: Config, placed: Placed) -> None:
    spec = spec_of(config, placed("argo", "team-a"))
    # Set for the whole workflow, labels would reach the launchers, which would then hold quota and wait.
    assert spec.pod_metadata is None
    queued = {t.name: t.metadata.labels for t in spec.templates if t.metadata and t.metadata.labels}
    assert set(queued) == {
        "snapshot-train", "snapshot-test", "snapshot-source", "gate",
        "train", "evaluate-candidate", "evaluate-champion",
    }  # fmt: skip
    assert all(labels == {QUEUE_LABEL: "team-a", PRIORITY_LABEL: "high"} for labels in queued.values())


def test_without_a_queue_no_pod_is_labelled(config: Config, placed: Placed) -> None:
    assert not any(t.metadata for t in spec_of(config, placed("argo")).templates)


def test_nothing_relies_on_an_exit_handler_or_argo_s_cache(config: Config, placed: Placed) -> None:
    spec = spec_of(config, placed("argo"))
    assert spec.on_exit is None
    assert spec.hooks is None
    assert all(t.memoize is None and t.timeout is None for t in spec.templates)
