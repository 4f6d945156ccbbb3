"""``goldenpath components``: the catalogue, and one component in full."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import BaseModel, TypeAdapter

from goldenpath.cli.output import JsonFlag, emit
from goldenpath.faces import ComponentDoc, describe, type_name
from goldenpath.steps import CATALOGUE, Component, find

app = typer.Typer(add_completion=False)


@app.command()
def components(
    name: Annotated[str, typer.Argument(help="One component, such as data.snapshot.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Lists the components, or shows one with its inputs and outputs."""
    found = [find(each) for each in ([name] if name else CATALOGUE)]
    value = [document(component) for component in found]
    text = details(found[0]) if name else "\n".join(_line(describe(each)) for each in found)
    emit(value[0] if name else value, as_json=as_json, text=text)


def document(component: Component[..., Any]) -> dict[str, Any]:
    """A component as JSON data; models come with their JSON schemas."""
    doc = describe(component)
    inputs = []
    for spec in doc.inputs:
        entry: dict[str, Any] = {"name": spec.name, "type": spec.type, "required": spec.required}
        if not spec.required:
            entry["default"] = spec.default
        if spec.wire.choices:
            entry["choices"] = list(spec.wire.choices)
        if (model := _model(component, spec.name)) is not None:
            entry["schema"] = model.model_json_schema()
        inputs.append(entry | {"doc": spec.doc})
    outputs = [{"name": spec.name, "type": spec.type, "doc": spec.doc} for spec in doc.outputs]
    return {
        "name": doc.name,
        "summary": doc.summary,
        "details": doc.details,
        "inputs": inputs,
        "outputs": outputs,
    }


def details(component: Component[..., Any]) -> str:
    """A component for people: every input with its default, every field of its models."""
    doc = describe(component)
    lines = [f"{doc.name}: {doc.summary}"]
    if doc.details:
        lines += ["", doc.details]
    lines += ["", "Inputs"]
    for spec in doc.inputs:
        end = "required" if spec.required else f"default {spec.default!r}"
        lines.append(f"  {spec.name} ({spec.type}, {end})")
        lines.append(f"      {spec.doc}")
        if spec.wire.choices:
            lines.append(f"      One of {', '.join(spec.wire.choices)}.")
        if (model := _model(component, spec.name)) is not None:
            lines += [f"      .{field}" for field in _fields(model)]
    lines += ["", "Outputs"]
    for output in doc.outputs:
        lines.append(f"  {output.name} ({output.type})" + (f"  {output.doc}" if output.doc else ""))
    return "\n".join(lines)


def _line(doc: ComponentDoc) -> str:
    return f"{doc.name:24}{doc.summary}"


def _model(component: Component[..., Any], name: str) -> type[BaseModel] | None:
    kind = component.inputs[name].type
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _fields(model: type[BaseModel]) -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        kind = type_name(field.annotation)
        if field.is_required():
            found.append(f"{name}: {kind}")
        else:
            default = TypeAdapter(Any).dump_python(field.get_default(call_default_factory=True), mode="json")
            found.append(f"{name}: {kind} = {default!r}")
    return found
