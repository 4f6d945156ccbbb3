"""What makes a plain function a component: records, reuse, retry and the mapping of errors."""

from goldenpath.steps.catalogue import CATALOGUE, find
from goldenpath.steps.context import RunContext, StepContext, current_run, current_step, in_run
from goldenpath.steps.decorator import Component, Input, component

__all__ = [
    "CATALOGUE",
    "Component",
    "Input",
    "RunContext",
    "StepContext",
    "component",
    "current_run",
    "current_step",
    "find",
    "in_run",
]
