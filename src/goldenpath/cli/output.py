"""What the commands print: one JSON object with ``--json``, else text for people."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def jsonable(value: Any) -> Any:
    """A result as JSON data: dataclasses and models become objects."""
    return TypeAdapter(type(value)).dump_python(value, mode="json", by_alias=True)


def emit(value: Any, *, as_json: bool, text: str) -> None:
    """Prints a command's result: ``value`` as JSON, or ``text``."""
    sys.stdout.write((json.dumps(jsonable(value), indent=2) if as_json else text) + "\n")


def size(count: float) -> str:
    """A number of bytes for people: ``12.3 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
