"""A component as an engine's task: JSON in, JSON out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from goldenpath import settings
from goldenpath.steps import RunContext, component, in_run
from goldenpath.steps.display import show_html, show_metrics
from goldenpath.steps.task import run_task, whole_numbers


class Options(BaseModel):
    epochs: int = 1
    params: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Cause:
    code: int


@dataclass(frozen=True, kw_only=True)
class Made:
    label: str | None
    cause: Cause | None
    params: dict[str, Any]
    names: tuple[str, ...]


@component(name="toy.make")
def make(*, options: Options = Options(), broken: bool = False) -> Made:  # noqa: B008
    """Makes a thing."""
    return Made(label=None, cause=Cause(code=3) if broken else None, params=options.params, names=("a", "b"))


@pytest.fixture
def context(tmp_path: Path) -> RunContext:
    environ = {"GOLDENPATH_STORE": (tmp_path / "store").as_uri()}
    return RunContext(run="run-1", settings=settings.load(start=tmp_path, environ=environ), image="i")


def test_absent_values_cross_as_empty_ones(context: RunContext) -> None:
    with in_run(context):
        outputs = run_task(make)
    assert outputs._asdict() == {"label": "", "cause": {}, "params": {}, "names": ["a", "b"]}


def test_nested_results_cross_as_objects(context: RunContext) -> None:
    with in_run(context):
        assert run_task(make, broken=True).cause == {"code": 3}


def test_numbers_that_kfp_made_floats_are_whole_again(context: RunContext) -> None:
    with in_run(context):
        outputs = run_task(make, options={"epochs": 2.0, "params": {"layers": [64.0, 0.5], "bias": True}})
    assert outputs.params == {"layers": [64, 0.5], "bias": True}
    assert isinstance(outputs.params["layers"][0], int)
    assert whole_numbers(float("inf")) == float("inf")


def test_a_page_of_the_store_is_copied_for_the_ui(context: RunContext, tmp_path: Path) -> None:
    context.store.put("runs/run-1/steps/gate/report.html", b"<p>passed</p>")
    page = tmp_path / "artifacts" / "page"
    with in_run(context):
        show_html(context.store.uri("runs/run-1/steps/gate/report.html"), str(page))
    assert page.read_text() == "<p>passed</p>"


def test_only_numbers_are_shown_as_metrics() -> None:
    class Metrics(dict[str, float]):
        def log_metric(self, name: str, value: float) -> None:
            self[name] = value

    shown = Metrics()
    show_metrics({"accuracy": 0.9, "n": 3, "per_class": {"a": 1}}, shown)
    assert shown == {"accuracy": 0.9, "n": 3}
