"""The components there are, by name."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, cast

from goldenpath.errors import ConfigError
from goldenpath.steps.decorator import Component

CATALOGUE: dict[str, str] = {
    "data.snapshot": "goldenpath.components.data.snapshot",
    "data.diff": "goldenpath.components.data.diff",
    "run.pin": "goldenpath.components.run.pin",
    "run.finish": "goldenpath.components.run.finish",
    "training.launch": "goldenpath.components.training.launch",
    "checkpointing.select": "goldenpath.components.checkpointing.select",
    "evaluation.evaluate": "goldenpath.components.evaluation.evaluate",
    "evaluation.gate": "goldenpath.components.evaluation.gate",
    "registry.register": "goldenpath.components.registry.register",
    "serving.promote": "goldenpath.components.serving.promote",
    "serving.rollback": "goldenpath.components.serving.rollback",
}
"""Every component by its name, with the module that holds the function of the same last name."""


def find(name: str) -> Component[..., Any]:
    """The component of a name.

    Raises:
        ConfigError: There is none.
    """
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Components: {', '.join(CATALOGUE)}."
        raise ConfigError(f"There is no component {name!r}.", next_step=hint)
    module = importlib.import_module(CATALOGUE[name])
    return cast("Component[..., Any]", getattr(module, name.rpartition(".")[2]))
