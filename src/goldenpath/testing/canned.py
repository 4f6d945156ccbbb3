"""Components with canned results: the wiring of a path is tested without its work.

Everything around the work is real: validation, records, keys, the engine's own passing of values.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from goldenpath.journal import Journal
from goldenpath.steps import Component, StepContext
from goldenpath.steps.task import wire_type

Results = Mapping[str, Mapping[str, Any]]
"""For each step what it returns; fields left out are blank: an empty text, 0, False."""


@contextlib.contextmanager
def canned(results: Results) -> Iterator[None]:
    """Inside the context the steps named return these results; all others do their work."""
    work = Component._work

    def answer(self: Component[..., Any], place: StepContext, values: dict[str, Any]) -> dict[str, Any]:
        if place.step not in results:
            return work(self, place, values)
        result = blank(self.result_type, results[place.step])
        dumped: dict[str, Any] = TypeAdapter(self.result_type).dump_python(result, mode="json")
        return dumped

    Component._work = answer  # type: ignore[method-assign]
    try:
        yield
    finally:
        Component._work = work  # type: ignore[method-assign]


def for_processes(results: Results, folder: Path) -> dict[str, str]:
    """Cans the steps of the Python processes that are started with the variables returned.

    Args:
        results: What the steps return.
        folder: An empty folder, to be put in front of the processes' ``PYTHONPATH``.
    """
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (folder / "sitecustomize.py").write_text(
        "import json, pathlib\n"
        "from goldenpath.testing.canned import canned\n"
        "text = pathlib.Path(__file__).with_name('results.json').read_text(encoding='utf-8')\n"
        "context = canned(json.loads(text))\n"
        "context.__enter__()\n",
        encoding="utf-8",
    )
    return {"PYTHONPATH": str(folder)}


def told(journal: Journal, run: str) -> dict[str, tuple[str, dict[str, Any], dict[str, Any]]]:
    """For each step of a run its component, its inputs and its outputs: what two engines must agree on."""
    return {step.step: (step.component, step.inputs, step.outputs) for step in journal.steps(run)}


def blank(kind: type, given: Mapping[str, Any]) -> Any:
    """An instance of a dataclass with the fields given, all others blank."""
    hints = typing.get_type_hints(kind)
    fields = {
        spec.name: _blank(hints[spec.name])
        for spec in dataclasses.fields(kind)
        if spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
    }
    return TypeAdapter(kind).validate_python(fields | dict(given))


def _blank(annotation: Any) -> Any:
    wire = wire_type(annotation)
    if wire.optional:
        return None
    if wire.choices:
        return wire.choices[0]
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return blank(annotation, {})
    return {"str": "", "int": 0, "float": 0.0, "bool": False, "dict": {}, "list": []}[wire.name]
