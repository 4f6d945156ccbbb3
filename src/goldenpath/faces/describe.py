"""What a component tells of itself: read from its signature, its docstring and its result's fields."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

from goldenpath.errors import GoldenPathError
from goldenpath.steps import Component, Input
from goldenpath.steps.task import WireType, wire_type

_SECTION = re.compile(r"^(Args|Returns|Raises):$")
_ENTRY = re.compile(r"^(\w+): +(.*)$")


@dataclass(frozen=True, kw_only=True)
class InputDoc:
    """One input as a face shows it."""

    name: str
    type: str
    """The Python type, for people."""
    wire: WireType
    required: bool
    default: Any
    """As JSON; an empty object where a model's own defaults hold. None where the input is required."""
    doc: str


@dataclass(frozen=True, kw_only=True)
class OutputDoc:
    """One output as a face shows it."""

    name: str
    type: str
    wire: WireType
    doc: str


@dataclass(frozen=True, kw_only=True)
class ComponentDoc:
    """A component as a face shows it."""

    name: str
    summary: str
    """The docstring's first line."""
    details: str
    """The rest of it, up to its sections."""
    returns: str
    inputs: tuple[InputDoc, ...]
    outputs: tuple[OutputDoc, ...]


def describe(component: Component[..., Any]) -> ComponentDoc:
    """Describes a component.

    Raises:
        GoldenPathError: An input has no line in the docstring, or a type cannot cross an engine.
    """
    text, sections = _sections(inspect.getdoc(component.function) or "")
    summary, _, details = text.partition("\n")
    entries = _entries(sections.get("Args", ""))
    fields = _field_docs(component.result_type)
    return ComponentDoc(
        name=component.name,
        summary=summary,
        details=details.strip(),
        returns=sections.get("Returns", ""),
        inputs=tuple(_input(component, spec, entries) for spec in component.inputs.values()),
        outputs=tuple(
            _output(component, name, annotation, fields) for name, annotation in component.outputs.items()
        ),
    )


def _input(component: Component[..., Any], spec: Input, docs: dict[str, str]) -> InputDoc:
    if spec.name not in docs:
        raise GoldenPathError(f"{component.name}: the input {spec.name!r} has no line in the docstring.")
    return InputDoc(
        name=spec.name,
        type=type_name(spec.type),
        wire=wire_type(spec.type),
        required=spec.required,
        default=None if spec.required else _default(component, spec),
        doc=docs[spec.name],
    )


def _default(component: Component[..., Any], spec: Input) -> Any:
    if isinstance(spec.default, BaseModel):
        if spec.default != type(spec.default)():
            raise GoldenPathError(
                f"{component.name}: the default of {spec.name!r} is not that of its model, "
                "where the defaults belong."
            )
        return {}
    return TypeAdapter(spec.type).dump_python(spec.default, mode="json")


def _output(component: Component[..., Any], name: str, annotation: Any, docs: dict[str, str]) -> OutputDoc:
    wire = wire_type(annotation)
    if wire.optional and wire.name in ("int", "float", "bool"):
        raise GoldenPathError(
            f"{component.name}: the output {name!r} may be None, which KFP cannot carry as {wire.name}."
        )
    return OutputDoc(name=name, type=type_name(annotation), wire=wire, doc=docs.get(name, ""))


def type_name(annotation: Any) -> str:
    """A type as a reader writes it: ``dict[str, str]``, ``SnapshotOptions``."""
    if isinstance(annotation, type) and not getattr(annotation, "__args__", ()):
        return annotation.__name__
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(annotation)).replace("NoneType", "None")


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and each section's own text."""
    head: list[str] = []
    sections: dict[str, list[str]] = {}
    lines = head
    for line in doc.splitlines():
        if match := _SECTION.match(line):
            lines = sections.setdefault(match[1], [])
        else:
            lines.append(line)
    return "\n".join(head).strip(), {
        name: textwrap.dedent("\n".join(body)).strip() for name, body in sections.items()
    }


def _entries(section: str) -> dict[str, str]:
    """The ``name: text`` entries of a section, each on one line."""
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if match := _ENTRY.match(line):
            name, found[match[1]] = match[1], match[2]
        elif name and line.strip():
            found[name] += " " + line.strip()
    return found


def _field_docs(kind: type) -> dict[str, str]:
    """The docstrings under the fields of a class, its bases' included."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, after in itertools.pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                found[field.target.id] = " ".join(after.value.value.split())
    return found
