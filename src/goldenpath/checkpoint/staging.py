"""Copying a state aside: what training does next cannot leak into what is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldenpath.checkpoint import layout
from goldenpath.checkpoint.dtypes import NUMPY, SIZES, name_of
from goldenpath.checkpoint.layout import Piece
from goldenpath.checkpoint.manifest import Array
from goldenpath.checkpoint.tree import Leaf, Structure, is_torch, take_apart
from goldenpath.provenance import sha256_hex


@dataclass(frozen=True, kw_only=True)
class Staged:
    """This rank's share of a state, copied."""

    structure: Structure
    arrays: dict[str, Array]
    shared: str
    """A digest over names, types and shapes of what all ranks have: equal on every rank."""
    data: memoryview


class Buffer:
    """The memory that states are copied into: kept from save to save, so that pages stay mapped."""

    def __init__(self) -> None:
        self._memory: np.ndarray[Any, Any] = np.empty(0, dtype=np.uint8)

    def take(self, size: int) -> memoryview:
        """A place of ``size`` bytes; it is the caller's until the next call."""
        if self._memory.nbytes < size:
            # Let go first, so that old and new never count together.
            self._memory = np.empty(0, dtype=np.uint8)
            self._memory = np.empty(size, dtype=np.uint8)
        return self._memory.data[:size]

    def abandon(self) -> None:
        """Leaves the memory to whoever may still read it."""
        self._memory = np.empty(0, dtype=np.uint8)


def stage(state: Any, *, rank: int, world_size: int, buffer: Buffer) -> Staged:
    """Copies this rank's share of a state.

    Arrays that all ranks have are divided among them by bytes; what torch has sharded, and what is
    marked ``PerRank``, each rank writes itself.

    Raises:
        InputError: Something cannot be stored without pickle.
    """
    structure = take_apart(state, rank=rank)
    shared = {
        leaf.name: leaf for leaf in structure.leaves if leaf.own is None and not _is_sharded(leaf.value)
    }
    writer = layout.writers({name: _nbytes(leaf.value) for name, leaf in shared.items()}, world_size)
    mine = [leaf for leaf in structure.leaves if writer.get(leaf.name, rank) == rank]
    pieces = _pieces(mine)
    starts, size = layout.place(pieces)
    data = buffer.take(size)
    for piece, start in zip(pieces, starts, strict=True):
        piece.copy(data[start : start + piece.nbytes])
    described = sorted((name, name_of(leaf.value), *leaf.value.shape) for name, leaf in shared.items())
    return Staged(
        structure=structure,
        arrays=layout.arrays_of(pieces, starts, rank),
        shared=sha256_hex(repr(described).encode()),
        data=data,
    )


def _pieces(leaves: list[Leaf]) -> list[Piece]:
    tensors: Mapping[str, Any] = {leaf.name: leaf.value for leaf in leaves if is_torch(leaf.value)}
    found = [_numpy_piece(leaf) for leaf in leaves if not is_torch(leaf.value)]
    if tensors:
        from goldenpath.checkpoint.torch_state import pieces_of

        found.extend(pieces_of(tensors))
    return found


def _numpy_piece(leaf: Leaf) -> Piece:
    value = leaf.value
    name = name_of(value)

    def copy(place: memoryview) -> None:
        np.copyto(np.frombuffer(place, dtype=NUMPY[name]).reshape(value.shape), value)

    return Piece(
        name=leaf.name,
        dtype=name,
        kind="scalar" if isinstance(value, np.generic) else "numpy",
        whole=value.shape,
        offset=(0,) * value.ndim,
        shape=value.shape,
        copy=copy,
    )


def _is_sharded(value: Any) -> bool:
    if not is_torch(value):
        return False
    from goldenpath.checkpoint.torch_state import is_sharded

    return is_sharded(value)


def _nbytes(value: Any) -> int:
    return int(value.size if not is_torch(value) else value.numel()) * SIZES[name_of(value)]
