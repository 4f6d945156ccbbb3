"""MLflow's way to name a model: ``models:/NAME@ALIAS`` and ``models:/NAME/3``."""

from __future__ import annotations

import re

from goldenpath.errors import InputError, NotFound
from goldenpath.registry.alias_epochs import aliases
from goldenpath.registry.versions import version
from goldenpath.store import Store

PREFIX = "models:/"

_SHAPE = re.compile(r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[A-Za-z0-9_-]+)|/(?P<number>[0-9]+))")


def from_tracked(text: str, *, store: Store) -> str:
    """The full reference of a name in MLflow's way; the number is the store's.

    Raises:
        InputError: The text names no version.
        NotFound: There is no such version or alias.
    """
    parts = _SHAPE.fullmatch(text)
    if parts is None:
        raise InputError(
            f"{text!r} names no version.", next_step="Write models:/NAME@ALIAS or models:/NAME/3."
        )
    if parts["number"]:
        return version(parts["name"], int(parts["number"]), store=store).ref(store.url)
    held = aliases(parts["name"], store=store).refs
    if parts["alias"] not in held:
        raise NotFound(
            f"The model {parts['name']!r} has no alias {parts['alias']!r}.",
            next_step=f"It has: {', '.join(held) or 'none'}.",
        )
    return held[parts["alias"]]
