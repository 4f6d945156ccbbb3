"""What a component tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from goldenpath.errors import GoldenPathError
from goldenpath.faces import describe
from goldenpath.steps import CATALOGUE, component, find
from goldenpath.steps.task import WireType, wire_type


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Paint(BaseModel):
    coats: int = 2


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was made."""

    ref: str
    """Where it is,
    with its digest."""
    size: int


@component(name="toy.make")
def make(*, source: str, colour: Colour = Colour.RED, paint: Paint = Paint()) -> Made:  # noqa: B008
    """Makes a thing.

    Nothing else is touched.

    Args:
        source: Where it comes from: a folder,
            or a URL.
        colour: Its colour.
        paint: How it is painted.

    Returns:
        The thing.
    """
    return Made(ref=source, size=len(colour) + paint.coats)


def test_a_component_is_described_from_its_signature_and_docstrings() -> None:
    found = describe(make)
    assert (found.name, found.summary, found.details) == (
        "toy.make",
        "Makes a thing.",
        "Nothing else is touched.",
    )
    source, colour, paint = found.inputs
    assert (source.doc, source.required) == ("Where it comes from: a folder, or a URL.", True)
    assert (colour.default, colour.wire) == ("red", WireType(name="str", choices=("red", "blue")))
    assert (paint.type, paint.wire.name, paint.default) == ("Paint", "dict", {})
    assert [(o.name, o.type, o.doc) for o in found.outputs] == [
        ("ref", "str", "Where it is, with its digest."),
        ("size", "int", ""),
    ]


@pytest.mark.parametrize(
    ("annotation", "wire"),
    [
        (str, WireType(name="str")),
        (bool, WireType(name="bool")),
        (int, WireType(name="int")),
        (float, WireType(name="float")),
        (dict[str, str], WireType(name="dict")),
        (Made, WireType(name="dict")),
        (tuple[int, ...], WireType(name="list")),
        (list[Paint], WireType(name="list")),
        (Paint | None, WireType(name="dict", optional=True)),
        (Literal["min", "max"], WireType(name="str", choices=("min", "max"))),
        (Colour, WireType(name="str", choices=("red", "blue"))),
    ],
)
def test_types_cross_an_engine_as_json_types(annotation: Any, wire: WireType) -> None:
    assert wire_type(annotation) == wire


@pytest.mark.parametrize("annotation", [object, int | str, complex, Literal[1, 2]])
def test_a_type_that_engines_cannot_carry_is_refused(annotation: Any) -> None:
    with pytest.raises(GoldenPathError, match="cannot cross an engine"):
        wire_type(annotation)


def test_an_input_without_documentation_is_refused() -> None:
    @component(name="toy.silent")
    def silent(*, source: str) -> Made:
        """Makes a thing."""
        return Made(ref=source, size=0)

    with pytest.raises(GoldenPathError, match="'source' has no line in the docstring"):
        describe(silent)


def test_a_default_beside_the_model_is_refused() -> None:
    @component(name="toy.thick")
    def thick(*, paint: Paint = Paint(coats=9)) -> Made:  # noqa: B008
        """Makes a thing.

        Args:
            paint: How it is painted.
        """
        return Made(ref="", size=paint.coats)

    with pytest.raises(GoldenPathError, match="not that of its model"):
        describe(thick)


def test_every_component_of_the_catalogue_can_be_described() -> None:
    for name in CATALOGUE:
        found = describe(find(name))
        assert found.summary
        assert found.outputs
        assert all(spec.doc for spec in found.inputs)
