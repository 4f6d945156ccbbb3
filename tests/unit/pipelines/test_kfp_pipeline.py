"""The compiled KFP pipeline, as KFP's own protobuf reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format
from kfp import compiler
from kfp.kubernetes import kubernetes_executor_config_pb2
from kfp.pipeline_spec import pipeline_spec_pb2

from goldenpath.errors import ConfigError
from goldenpath.pipelines.on_kfp import to_yaml
from goldenpath.pipelines.pods import PRIORITY_LABEL, QUEUE_LABEL, Placement
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.pipelines.train_to_serve.form import source_inputs
from goldenpath.pipelines.train_to_serve.kfp import build

Placed = Callable[..., Placement]

STEPS = {
    "begin", "snapshot-train", "snapshot-test", "snapshot-source", "pin", "train", "evaluate-candidate",
    "evaluate-champion", "gate", "register", "promote", "finish",
}  # fmt: skip


def documents(config: Config, placement: Placement) -> tuple[dict[str, Any], dict[str, Any]]:
    spec, platform = yaml.safe_load_all(to_yaml(build(config, placement)))
    return spec, platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]


def steps(spec: dict[str, Any]) -> dict[str, list[str]]:
    """For each step the executors that are it."""
    found: dict[str, list[str]] = {}
    for name, executor in spec["deploymentSpec"]["executors"].items():
        environment = {entry["name"]: entry["value"] for entry in executor["container"]["env"]}
        found.setdefault(environment["GOLDENPATH_STEP"], []).append(name)
    return found


def tasks(spec: dict[str, Any]) -> list[dict[str, Any]]:
    dags = [spec["root"], *(c for c in spec["components"].values() if "dag" in c)]
    return [task for dag in dags for task in dag["dag"]["tasks"].values()]


def test_kfp_s_own_schemas_read_it(config: Config, placed: Placed) -> None:
    spec, executors = documents(config, placed("kfp", "team-a"))
    parsed = json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    assert parsed.pipeline_info.name == "train-to-serve"
    for executor in executors.values():
        json_format.ParseDict(executor, kubernetes_executor_config_pb2.KubernetesExecutorConfig())


def test_the_steps_are_those_of_the_recipe(config: Config, placed: Placed) -> None:
    spec, _ = documents(config, placed("kfp"))
    found = steps(spec)
    assert set(found) == STEPS
    shown = {task["taskInfo"]["name"] for task in tasks(spec)}
    assert shown >= STEPS
    # A step in two places is one step: only one of its branches is taken.
    assert {step for step, executors in found.items() if len(executors) > 1} == {"gate", "finish"}


def test_the_form_is_small_typed_and_explained(config: Config, placed: Placed) -> None:
    spec, _ = documents(config, placed("kfp"))
    inputs = spec["root"]["inputDefinitions"]["parameters"]
    assert len(inputs) <= 12
    assert all(entry["description"] and "defaultValue" in entry for entry in inputs.values())
    assert inputs["train_data"]["defaultValue"] == "s3://lake/train"
    assert inputs["training"]["parameterType"] == "STRUCT"
    assert inputs["if_changed"]["parameterType"] == "BOOLEAN"


def test_kfp_s_cache_is_off_and_a_lost_pod_is_tried_again(config: Config, placed: Placed) -> None:
    spec, _ = documents(config, placed("kfp"))
    leaves = [task for task in tasks(spec) if not task["componentRef"]["name"].startswith("comp-condition")]
    assert len(leaves) == len(spec["deploymentSpec"]["executors"])
    for task in leaves:
        assert task["cachingOptions"].get("enableCache", False) is False
        assert task["retryPolicy"]["maxRetryCount"] == 1


def test_every_pod_has_the_run_the_settings_and_the_image(config: Config, placed: Placed) -> None:
    spec, executors = documents(config, placed("kfp"))
    assert executors.keys() == spec["deploymentSpec"]["executors"].keys()
    for name, executor in executors.items():
        assert executor["fieldPathAsEnv"] == [
            {"name": "GOLDENPATH_RUN", "fieldPath": "metadata.labels['pipeline/runid']"}
        ]
        required, optional = executor["configMapAsEnv"]
        assert [entry["envVar"] for entry in required["keyToEnv"]] == [
            "GOLDENPATH_STORE",
            "MLFLOW_TRACKING_URI",
        ]
        assert optional["optional"] is True
        container = spec["deploymentSpec"]["executors"][name]["container"]
        assert container["image"] == placed("kfp").image
        assert "pip install" not in " ".join(container["command"])


def labelled(config: Config, placement: Placement) -> set[str]:
    spec, executors = documents(config, placement)
    by_step = steps(spec)
    found = set()
    for step, names in by_step.items():
        labels = [executors[name].get("podMetadata", {}).get("labels", {}) for name in names]
        assert all(entry == labels[0] for entry in labels)
        if labels[0]:
            assert labels[0] == {QUEUE_LABEL: "team-a", PRIORITY_LABEL: "high"}
            found.add(step)
    return found


def test_without_a_queue_no_pod_is_labelled(config: Config, placed: Placed) -> None:
    assert labelled(config, placed("kfp")) == set()


def test_only_pods_that_do_the_work_are_queued(config: Config, placed: Placed) -> None:
    at_work = {"snapshot-train", "snapshot-test", "snapshot-source", "gate"}
    in_pod = {"train", "evaluate-candidate", "evaluate-champion"}
    assert (config.training.backend, config.evaluation.backend) == ("local", "local")
    assert labelled(config, placed("kfp", "team-a")) == at_work | in_pod


def test_the_same_configuration_gives_the_same_text(config: Config, placed: Placed) -> None:
    assert to_yaml(build(config, placed("kfp"))) == to_yaml(build(config, placed("kfp")))


def test_it_says_what_kfp_s_own_compiler_writes(config: Config, placed: Placed, tmp_path: Path) -> None:
    pipeline = build(config, placed("kfp", "team-a"))
    file = tmp_path / "pipeline.yaml"
    compiler.Compiler().compile(pipeline, str(file))
    assert list(yaml.safe_load_all(to_yaml(pipeline))) == list(yaml.safe_load_all(file.read_text()))


def test_what_the_configuration_leaves_out_is_not_drawn(config: Config, placed: Placed) -> None:
    spec, _ = documents(config.model_copy(update={"source": "", "promotion": None}), placed("kfp"))
    assert steps(spec).keys() == STEPS - {"snapshot-source", "promote"}
    assert not {"source", "promotion"} & spec["root"]["inputDefinitions"]["parameters"].keys()


def test_keys_that_the_form_cannot_tell_apart_are_refused(config: Config) -> None:
    item = config.data["train"]
    with pytest.raises(ConfigError, match="not told apart"):
        source_inputs(config.model_copy(update={"data": {"a-b": item, "a_b": item}}))
