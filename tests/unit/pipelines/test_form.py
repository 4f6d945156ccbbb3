"""The form of an engine's UI."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from goldenpath.errors import ConfigError
from goldenpath.pipelines.form import identifiers, written


class Error(BaseModel):
    kind: Literal["error"] = "error"


class Latency(BaseModel):
    kind: Literal["latency"] = "latency"


class Plan(BaseModel):
    steps: tuple[int, ...] = (20, 50)
    metrics: tuple[Annotated[Error | Latency, Field(discriminator="kind")], ...] = (Error(),)


def test_what_the_defaults_say_is_left_out() -> None:
    assert written(Plan()) == {}
    assert written(Plan(steps=(10,))) == {"steps": [10]}


def test_nothing_is_left_out_that_tells_a_union_apart() -> None:
    plan = Plan(metrics=(Latency(),))
    assert Plan.model_validate(written(plan)) == plan


def test_keys_become_names_of_inputs() -> None:
    assert identifiers(["train", "train-2024"]) == {"train": "train", "train-2024": "train_2024"}


def test_keys_that_no_form_can_tell_apart_are_refused() -> None:
    with pytest.raises(ConfigError, match="'a_b' is there twice"):
        identifiers(["a-b", "a.b"])
