"""The compiled files that are committed beside each path: made anew, they are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import goldenpath.pipelines
from goldenpath import settings
from goldenpath.provenance import Code
from goldenpath.submit import load_path
from goldenpath.submit.compiling import TARGETS, compile_path

COMPILED = Path(goldenpath.pipelines.__path__[0]) / "train_to_serve" / "compiled"
IMAGE = "registry.example.org/team/goldenpath:1"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("queue", ["", "team-a"])
def test_the_committed_file_is_what_compiling_gives(
    target: str, queue: str, golden: Callable[[Path, str], None]
) -> None:
    overrides = [f"training.queue={queue}", "training.priority=high"] if queue else []
    text = compile_path(
        load_path("train-to-serve", COMPILED / "path.yaml", overrides=overrides),
        target,
        settings=replace(settings.load(), image=IMAGE),
        code=Code(),
    )
    golden(COMPILED / (f"{target}-queued.yaml" if queue else f"{target}.yaml"), text)
