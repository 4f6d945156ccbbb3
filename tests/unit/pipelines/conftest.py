"""A configuration of the path, compiled once for all tests of this folder."""

from __future__ import annotations

from typing import Any

import pytest

from goldenpath.pipelines.pods import Placement, Queue
from goldenpath.pipelines.train_to_serve.config import Config

IMAGE = "registry.example.org/team/goldenpath:1"


@pytest.fixture(scope="session")
def config() -> Config:
    """Two datasets, a source, a promotion."""
    return Config.model_validate(
        {
            "path": "train-to-serve",
            "model": "digits",
            "data": {"train": {"source": "s3://lake/train"}, "test": {"source": "s3://lake/test"}},
            "training": {"entry_point": "train.py", "params": {"epochs": 3, "rate": 0.1}},
            "evaluation": {"evaluator": "evaluate:evaluate"},
        }
    )


@pytest.fixture(scope="session")
def placed() -> Any:
    """A function: the placement for an engine, with or without a queue."""

    def place(engine: str, queue: str = "") -> Placement:
        return Placement(
            engine=engine,
            path="train-to-serve",
            image=IMAGE,
            queue=Queue(name=queue, priority="high") if queue else None,
        )

    return place
