"""The generated modules: what they say, and that the committed ones are up to date."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel

import goldenpath.components
from goldenpath.errors import GoldenPathError
from goldenpath.faces import FAMILIES, describe, files
from goldenpath.faces.hera import module as hera_module
from goldenpath.steps import CATALOGUE, component, find

COMPONENTS = Path(goldenpath.components.__path__[0])


class Options(BaseModel):
    depth: int = 1


@dataclass(frozen=True, kw_only=True)
class Clash:
    result: str


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was made."""

    ref: str
    """Where it is."""
    sizes: tuple[int, ...]


@component(name="toy.make_it")
def make_it(*, source: str, options: Options = Options(), extra: Options | None = None) -> Made:  # noqa: B008
    """Makes a thing.

    Args:
        source: Where it comes from.
        options: How it is made.
        extra: How it is made again.
    """
    return Made(ref=source, sizes=(options.depth,) if extra is None else (extra.depth,))


KFP = '''
@dsl.component(base_image=IMAGE, install_kfp_package=False)
def make_it(source: str, options: dict = {}, extra: Optional[dict] = None) -> NamedTuple(
    "MakeItOutputs", [("ref", str), ("sizes", list)]
):
    """Makes a thing.

    Args:
        source: Where it comes from.
        options: How it is made. An object: Options.
        extra: How it is made again. An object: Options | None.

    Returns:
        ref: Where it is.
        sizes: tuple[int, ...].
    """
    from MODULE import make_it as component
    from goldenpath.steps.task import run_task

    outputs = run_task(component, source=source, options=options, extra=extra)
    return outputs
'''


def test_a_face_has_the_names_types_defaults_and_docs_of_its_component() -> None:
    text = files("toy", [make_it])["kfp.py"]
    assert text.endswith(KFP.replace("MODULE", __name__))


def test_generating_is_deterministic() -> None:
    assert files("toy", [make_it]) == files("toy", [make_it])


def test_an_output_that_hera_keeps_for_itself_is_refused() -> None:
    @component(name="toy.clash")
    def clash(*, source: str) -> Clash:
        """Makes a thing.

        Args:
            source: Where it comes from.
        """
        return Clash(result=source)

    with pytest.raises(GoldenPathError, match="Hera keeps the output name 'result'"):
        hera_module("toy", [(clash, describe(clash))])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_committed_faces_are_what_make_faces_writes(family: str) -> None:
    for name, text in files(family).items():
        assert (COMPONENTS / family / name).read_text() == text, f"run make faces: {family}/{name}"


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("face", ["kfp", "hera"])
def test_every_component_has_both_faces(name: str, face: str) -> None:
    family, _, function = name.partition(".")
    module = importlib.import_module(f"goldenpath.components.{family}.{face}")
    assert callable(getattr(module, function))


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_kfp_face_says_to_kfp_what_the_component_says(name: str) -> None:
    family, _, function = name.partition(".")
    face = getattr(importlib.import_module(f"goldenpath.components.{family}.kfp"), function)
    doc = describe(find(name))
    spec = face.component_spec
    assert list(spec.inputs) == [i.name for i in doc.inputs]
    assert {n: i.optional for n, i in spec.inputs.items()} == {i.name: not i.required for i in doc.inputs}
    assert {i.name for i in doc.outputs} <= spec.outputs.keys()
    assert spec.implementation.container.image != ""
    assert not spec.implementation.container.image.endswith(":latest")
    assert "pip install" not in " ".join(spec.implementation.container.command)


def imported(name: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def test_the_hera_face_outside_a_context_is_the_component(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = imported("toy_hera_face", files("toy", [make_it])["hera.py"], tmp_path, monkeypatch)
    outputs = face.make_it(source="a", options={"depth": 3})
    assert (outputs.ref, outputs.sizes) == ("a", [3])


def test_the_function_behind_the_kfp_face_is_the_component(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = imported("toy_kfp_face", files("toy", [make_it])["kfp.py"], tmp_path, monkeypatch)
    outputs = face.make_it.python_func(source="a", options={"depth": 3.0}, extra={"depth": 4})
    assert outputs._asdict() == {"ref": "a", "sizes": [4]}
