"""The form of an engine's UI: a configuration as a few flat inputs with their defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from goldenpath.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Field:
    """One input of the form."""

    name: str
    type: type
    """``str``, ``bool`` or ``dict``."""
    default: Any
    doc: str


def written(model: BaseModel) -> dict[str, Any]:
    """A model's JSON without what its fields' defaults say, where that loses nothing."""
    short = model.model_dump(mode="json", exclude_defaults=True)
    try:
        same = type(model).model_validate(short) == model
    except ValidationError:
        # A union told apart by a field that has a default needs it.
        same = False
    return short if same else model.model_dump(mode="json")


def identifiers(keys: Iterable[str]) -> dict[str, str]:
    """For each key the name of an input: ``train-2024`` becomes ``train_2024``.

    Raises:
        ConfigError: Two keys have the same name.
    """
    found: dict[str, str] = {}
    for key in keys:
        name = re.sub(r"\W", "_", key)
        if name in found.values():
            raise ConfigError(
                f"The keys {', '.join(map(repr, keys))} under data are not told apart by an engine's form: "
                f"{name!r} is there twice.",
                next_step="Use letters, digits and '_' in them.",
            )
        found[key] = name
    return found
