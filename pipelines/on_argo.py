"""A component's template in an Argo workflow: its step, variables, labels, retries."""

from __future__ import annotations

from typing import Any

from goldenpath.pipelines.pods import SETTINGS_MAP, Placement

LOST_POD = "lastRetry.status == 'Error' || lastRetry.exitCode == '143'"
"""A pod that vanished (Error) or was told to end (143): another attempt adopts what was begun.

A program that failed of itself is not run again.
"""


def template(face: Any, step: str, component: str, placement: Placement, *, backend: str = "") -> Any:
    """A template of its own for a step, for Argo sets labels and variables by template.

    Args:
        face: The Hera face: a function decorated by ``hera.workflows.script``.
        step: The step's name, and the template's.
        component: The component's name.
        placement: How the path is compiled.
        backend: For a launcher: where its job runs.
    """
    from hera.workflows import ConfigMapEnvFrom, Env, RetryStrategy, Script
    from hera.workflows.models import Backoff, IntOrString

    environment = placement.environment(step) | {"GOLDENPATH_RUN": "{{workflow.uid}}"}
    return Script(
        name=step,
        source=face.wrapped_function,
        constructor="runner",
        image=placement.image,
        command=["python"],
        env=[Env(name=name, value=value) for name, value in environment.items()],
        env_from=[ConfigMapEnvFrom(name=SETTINGS_MAP)],
        labels=dict(placement.labels(component, backend=backend)) or None,
        retry_strategy=RetryStrategy(
            limit="2", expression=LOST_POD, backoff=Backoff(duration="30s", factor=IntOrString(root="2"))
        ),
    )


def to_yaml(workflow: Any) -> str:
    """The WorkflowTemplate as YAML; the same text for the same configuration."""
    return (
        f"# {workflow.name}, for Argo Workflows. Compiled by goldenpath: do not edit.\n{workflow.to_yaml()}"
    )
