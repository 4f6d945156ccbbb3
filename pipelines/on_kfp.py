"""A component's task in a KFP pipeline: its step, variables, labels, retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from goldenpath.pipelines.pods import OPTIONAL_SETTINGS, REQUIRED_SETTINGS, SETTINGS_MAP, Placement

RUN_LABEL = "pipeline/runid"
"""The pod label that holds KFP's run id."""

RETRIES = 1
"""KFP cannot tell a lost pod from a failed program: one more attempt, which adopts what was begun."""


@dataclass(frozen=True, kw_only=True)
class KfpTasks:
    """Makes tasks into steps. Without a placement they run on this machine, which has its own variables."""

    placement: Placement | None

    def step(self, task: Any, step: str, component: str, *, backend: str = "") -> Any:
        """Gives a task its step; returns the task.

        Args:
            task: What calling a KFP face in a pipeline returned.
            step: The step's name.
            component: The component's name.
            backend: For a launcher: where its job runs.
        """
        # KFP's cache would answer for us: what is reused is decided by our own keys.
        task.set_caching_options(False)
        if self.placement is None:
            return task.set_env_variable("GOLDENPATH_STEP", step)
        task.set_display_name(step)
        task.set_container_image(self.placement.image)
        task.set_retry(num_retries=RETRIES, backoff_duration="30s")
        for name, value in self.placement.environment(step).items():
            task.set_env_variable(name, value)
        return self._on_cluster(task, self.placement.labels(component, backend=backend))

    def _on_cluster(self, task: Any, labels: Any) -> Any:
        from kfp import kubernetes

        kubernetes.use_field_path_as_env(task, "GOLDENPATH_RUN", f"metadata.labels['{RUN_LABEL}']")
        for names, optional in ((REQUIRED_SETTINGS, False), (OPTIONAL_SETTINGS, True)):
            kubernetes.use_config_map_as_env(
                task, SETTINGS_MAP, {name: name for name in names}, optional=optional
            )
        for name, value in labels.items():
            kubernetes.add_pod_label(task, name, value)
        return task


def to_yaml(pipeline: Any) -> str:
    """The pipeline as the YAML that KFP's UI and client take; the same text for the same pipeline."""
    from google.protobuf import json_format

    documents = [json_format.MessageToDict(pipeline.pipeline_spec)]
    if platform := json_format.MessageToDict(pipeline.platform_spec):
        documents.append(platform)
    body = yaml.dump_all(documents, Dumper=_Dumper, width=110)
    return f"# {pipeline.name}, for Kubeflow Pipelines. Compiled by goldenpath: do not edit.\n{body}"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such.

    KFP's own compiler heads its file with defaults in the order of a protobuf map, different every time,
    and writes texts as whoever changed PyYAML's global representers last would have it (Hera does).
    """


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
