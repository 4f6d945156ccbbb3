"""A state's structure as JSON: containers and scalars stay, arrays become named leaves. No pickle.

What JSON lacks has one marked form each: ``{"$tuple": […]}``, ``{"$dict": [[key, value], …]}`` (keys
that are no texts), ``{"$float": "nan"}``, ``{"$bytes": base64}``, ``{"$array": name}`` and
``{"$rank": path}`` (a value of one rank alone).
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldenpath.errors import DataDamaged, InputError

_SCALARS = (type(None), bool, int, str)
_MARKS = frozenset({"$tuple", "$dict", "$float", "$bytes", "$array", "$rank"})
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class PerRank:
    """Marks a value that each rank has of its own, such as the state of its random generators.

    Everything else in a state is taken to be the same on all ranks (or sharded by torch), and saved
    once.
    """

    value: Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a state. ``own``: the rank whose alone it is, else None."""

    name: str
    value: Any
    own: int | None = None


@dataclass(slots=True)
class Structure:
    """A state taken apart."""

    tree: Any = None
    own: dict[str, Any] = field(default_factory=dict)
    """For each ``PerRank`` value of this rank: its path and its own tree."""
    leaves: list[Leaf] = field(default_factory=list)


def take_apart(state: Any, *, rank: int) -> Structure:
    """Splits a state into its JSON structure and its arrays, in the order of the tree.

    Raises:
        InputError: Something cannot be stored without pickle: its key and type are named.
    """
    found = Structure()
    found.tree = _Encoder(found, rank).encode(state, (), own=None)
    return found


def put_together(tree: Any, array: Callable[[str], Any], own: Mapping[str, Any] | None) -> Any:
    """Rebuilds a state.

    Args:
        tree: The structure, as ``take_apart`` made it.
        array: Gives the array of a name.
        own: This rank's own values; None leaves them out.

    Raises:
        DataDamaged: The structure is not one of ours.
    """
    return _Decoder(array, own).decode(tree, 0)


def is_torch(value: Any) -> bool:
    """Whether a value is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class _Encoder:
    def __init__(self, found: Structure, rank: int) -> None:
        self.found = found
        self.rank = rank
        self.names: set[str] = set()

    def encode(self, value: Any, path: tuple[str, ...], own: int | None) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if kind in (dict, OrderedDict):
            return self._mapping(value, path, own)
        if kind in (list, tuple):
            items = [self.encode(item, (*path, str(index)), own) for index, item in enumerate(value)]
            return items if kind is list else {"$tuple": items}
        if kind in (bytes, bytearray):
            return {"$bytes": base64.b64encode(value).decode()}
        if kind is PerRank:
            return self._per_rank(value, path, own)
        if isinstance(value, np.ndarray | np.generic) or is_torch(value):
            return self._leaf(value, path, own)
        raise InputError(
            f"The state's {_shown(path)} is a {kind.__module__}.{kind.__qualname__}, which cannot be stored "
            "without pickle.",
            next_step="Save its state_dict(), or its values as numbers, texts, lists, dicts and arrays.",
        )

    def _mapping(self, value: Mapping[Any, Any], path: tuple[str, ...], own: int | None) -> Any:
        pairs = []
        for key, item in value.items():
            if type(key) not in (*_SCALARS, float):
                raise InputError(
                    f"The state's {_shown(path)} has a key of type {type(key).__qualname__}: {key!r}.",
                    next_step="Keys are texts or numbers.",
                )
            pairs.append((key, self.encode(item, (*path, str(key)), own)))
        if all(type(key) is str and key not in _MARKS for key, _ in pairs):
            return dict(pairs)
        return {"$dict": [[self.encode(key, path, own), item] for key, item in pairs]}

    def _per_rank(self, value: PerRank, path: tuple[str, ...], own: int | None) -> Any:
        if own is not None:
            raise InputError(f"The state's {_shown(path)} is a PerRank inside a PerRank.")
        name = pointer(path)
        self.found.own[name] = self.encode(value.value, path, own=self.rank)
        return {"$rank": name}

    def _leaf(self, value: Any, path: tuple[str, ...], own: int | None) -> Any:
        name = pointer(path) if own is None else f"{own}@{pointer(path)}"
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "biufc":
            raise InputError(
                f"The state's {_shown(path)} is an array of {value.dtype}, which is no number.",
                next_step="Save texts as lists; object arrays would need pickle.",
            )
        if name in self.names:
            raise InputError(f"The state has two arrays of the name {name!r}.", next_step="Rename a key.")
        self.names.add(name)
        self.found.leaves.append(Leaf(name, value, own))
        return {"$array": name}


class _Decoder:
    def __init__(self, array: Callable[[str], Any], own: Mapping[str, Any] | None) -> None:
        self.array = array
        self.own = own

    def decode(self, node: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise DataDamaged(f"The checkpoint's structure is deeper than {_MAX_DEPTH} levels.")
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node if not self._absent(item)]
        if not isinstance(node, dict):
            return node
        mark = next(iter(node)) if len(node) == 1 else ""
        if mark in _MARKS:
            return self._marked(mark, node[mark], depth)
        return {
            key: self.decode(item, depth + 1)
            for key, item in node.items()
            if not self._absent(item)
        }  # fmt: skip

    def _marked(self, mark: str, content: Any, depth: int) -> Any:
        try:
            if mark == "$tuple":
                return tuple(self.decode(item, depth + 1) for item in content if not self._absent(item))
            if mark == "$dict":
                return {
                    self.decode(key, depth + 1): self.decode(item, depth + 1)
                    for key, item in content
                    if not self._absent(item)
                }
            if mark == "$float":
                return float(content)
            if mark == "$bytes":
                return base64.b64decode(content, validate=True)
            if mark == "$array":
                return self.array(content)
            return self.decode((self.own or {})[content], depth + 1)
        except (TypeError, ValueError, KeyError, binascii.Error) as error:
            raise DataDamaged(f"The checkpoint's structure holds a broken {mark}: {error!r}.") from None

    def _absent(self, node: Any) -> bool:
        return self.own is None and isinstance(node, dict) and node.keys() == {"$rank"}


def array_names(tree: Any) -> Iterator[str]:
    """The names of all arrays that a structure refers to."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if node.keys() == {"$array"}:
                yield node["$array"]
            else:
                stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def pointer(path: tuple[str, ...]) -> str:
    """A path as one name, by the rules of JSON pointers (RFC 6901): ``model/fc.weight``."""
    return "/".join(part.replace("~", "~0").replace("/", "~1") for part in path)


def _shown(path: tuple[str, ...]) -> str:
    return repr(pointer(path)) if path else "root"
