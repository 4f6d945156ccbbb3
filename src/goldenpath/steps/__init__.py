"""What makes a plain function a component: records, reuse, retry and the mapping of errors."""

from goldenpath.steps.component import CATALOGUE, Component, component
from goldenpath.steps.context import RunContext, StepContext, current_run, current_step, in_run

__all__ = [
    "CATALOGUE",
    "Component",
    "RunContext",
    "StepContext",
    "component",
    "current_run",
    "current_step",
    "in_run",
]
