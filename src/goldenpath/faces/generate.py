"""The generated modules: ``components/<family>/kfp.py`` and ``hera.py``, as texts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from goldenpath.errors import GoldenPathError
from goldenpath.faces import hera, kfp
from goldenpath.faces.describe import describe
from goldenpath.steps import CATALOGUE, Component, find

FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(name.partition(".")[0] for name in CATALOGUE))
"""The families, in the catalogue's order."""


def files(family: str, components: Iterable[Component[..., Any]] | None = None) -> dict[str, str]:
    """The generated modules of a family by file name, formatted by ruff.

    Args:
        family: The family's name.
        components: Its components; by default those of the catalogue.
    """
    if components is None:
        components = [find(name) for name in CATALOGUE if name.partition(".")[0] == family]
    found = [(component, describe(component)) for component in components]
    return {
        "kfp.py": _formatted(kfp.module(family, found)),
        "hera.py": _formatted(hera.module(family, found)),
    }


def _formatted(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "110", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GoldenPathError(f"ruff could not format a generated module: {done.stderr.strip()}")
    return done.stdout
