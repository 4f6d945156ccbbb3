"""From pydantic's errors to one sentence a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from goldenpath.errors import ConfigError

T = TypeVar("T")


def validated(kind: type[T], value: Any, *, where: str) -> T:
    """Validates a value as ``kind``; the errors name the key, the value and the nearest right key.

    Args:
        kind: A pydantic model, a dataclass or any type pydantic knows.
        value: JSON-like data, or an instance already.
        where: What the value is, for the message: a file's path, a component's name.

    Raises:
        ConfigError: The value does not fit; all its faults are in one message.
    """
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        faults = "; ".join(_sentence(kind, fault) for fault in error.errors(include_url=False))
        raise ConfigError(f"{where}: {faults}.") from None


def _sentence(kind: type[Any], fault: Mapping[str, Any]) -> str:
    location = tuple(fault["loc"])
    path = ".".join(str(part) for part in location) or "the value"
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = _keys_at(kind, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        return f"the key {path!r} is unknown ({hint})"
    if fault["type"] in ("missing", "missing_argument"):
        return f"{path!r} is missing"
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"{path!r} is {_shown(fault['input'])}: {message[:1].lower()}{message[1:]}"


def _shown(value: Any) -> str:
    # Of an object the keys alone: the fault may be that a value is a secret.
    keys = [f"{key!r}: …" for key in value] if isinstance(value, Mapping) else None
    text = repr(value) if keys is None else f"{{{', '.join(keys)}}}"
    return text if len(text) <= 80 else text[:77] + "..."


def _keys_at(kind: Any, location: tuple[int | str, ...]) -> list[str]:
    for part in location:
        if isinstance(kind, type) and issubclass(kind, BaseModel) and part in kind.model_fields:
            kind = _bare(kind.model_fields[str(part)].annotation)
        elif not isinstance(kind, type):
            kind = _bare(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return sorted(field.alias or name for name, field in kind.model_fields.items())
    return []


def _bare(annotation: Any) -> Any:
    """The model inside ``Model | None``, ``list[Model]`` or ``dict[str, Model]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in reversed(getattr(annotation, "__args__", ())):
        found = _bare(argument)
        if isinstance(found, type) and issubclass(found, BaseModel):
            return found
    return annotation
