"""A component as the task of an engine: JSON values in and out. The generated faces call it.

KFP and Argo carry text, numbers, booleans, lists and objects: models and dataclasses cross as objects,
enumerations as text.
"""

from __future__ import annotations

import enum
import logging
import os
import types
import typing
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import date
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, TypeAdapter

from goldenpath import __version__
from goldenpath.errors import GoldenPathError
from goldenpath.steps.context import step_from_environment
from goldenpath.steps.decorator import Component

IMAGE = os.environ.get("GOLDENPATH_IMAGE") or f"localhost/goldenpath:{__version__}"
"""The image of the tasks: ``GOLDENPATH_IMAGE``, else one that this machine built and nobody else can push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireType:
    """What a Python type is on an engine's wire."""

    name: str
    """``str``, ``int``, ``float``, ``bool``, ``dict`` or ``list``."""
    optional: bool = False
    choices: tuple[str, ...] = ()


_EMPTY: dict[str, Any] = {"str": "", "dict": {}, "list": []}


def wire_type(annotation: Any) -> WireType:
    """The wire type of an annotation.

    Raises:
        GoldenPathError: Engines cannot carry such values.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in arguments:
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1:
            inner = wire_type(rest[0])
            return WireType(name=inner.name, optional=True, choices=inner.choices)
    if origin is typing.Annotated:
        return wire_type(arguments[0])
    if origin is typing.Literal and all(isinstance(choice, str) for choice in arguments):
        return WireType(name="str", choices=arguments)
    kind = origin or annotation
    if isinstance(kind, type):
        if issubclass(kind, enum.StrEnum):
            return WireType(name="str", choices=tuple(member.value for member in kind))
        for wire, classes in _WIRES:
            if issubclass(kind, classes) or (wire == "dict" and is_dataclass(kind)):
                return WireType(name=wire)
    raise GoldenPathError(f"{annotation!r} cannot cross an engine: use text, a number, a list or a model.")


_WIRES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("bool", (bool,)),
    ("int", (int,)),
    ("float", (float,)),
    ("str", (str, date, PurePath)),
    ("dict", (Mapping, BaseModel)),
    ("list", (Sequence, set, frozenset)),
)
"""In this order: a bool is an int, and a str is a Sequence, to Python."""


def run_task(component: Component[..., Any], **inputs: Any) -> Any:
    """Runs a component on values from an engine.

    Returns:
        A named tuple of the outputs as JSON values; an absent text, list or object is an empty one,
        because KFP refuses null.
    """
    if step_from_environment():
        # The pod's log is where people look for "Waiting in queue …".
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    result = component(**{name: whole_numbers(value) for name, value in inputs.items()})
    outputs = TypeAdapter(component.result_type).dump_python(result, mode="json")
    kinds = {name: wire_type(annotation) for name, annotation in component.outputs.items()}
    values = {name: _EMPTY[kinds[name].name] if value is None else value for name, value in outputs.items()}
    return namedtuple(component.result_type.__name__, values)(**values)


def whole_numbers(value: Any) -> Any:
    """The value with 2.0 as 2, at any depth.

    KFP's objects hold numbers as protobuf doubles, so that ``epochs: 2`` arrives as 2.0. Its Go
    backend writes 2 again, its local runner does not; this makes both alike.
    """
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
