"""Where bytes go: which rank writes what, and at which place of its stream. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from goldenpath.checkpoint.dtypes import SIZES
from goldenpath.checkpoint.manifest import Array, Chunk
from goldenpath.errors import InputError

PART_SIZE = 64 * 2**20
"""Bytes of one object: large enough for a store's throughput, small enough to fetch in parallel."""

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A box of an array that this rank writes."""

    name: str
    dtype: str
    kind: Literal["numpy", "scalar", "torch"]
    whole: tuple[int, ...]
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    copy: Callable[[memoryview], None]
    """Writes the box, dense in C order, into a place of its size."""

    @property
    def nbytes(self) -> int:
        """Its size."""
        return math.prod(self.shape) * SIZES[self.dtype]


def writers(sizes: Mapping[str, int], world_size: int) -> dict[str, int]:
    """Which rank writes each array that all ranks have: the same answer on every rank, evenly by bytes."""
    load = [0] * world_size
    found = {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        rank = min(range(world_size), key=load.__getitem__)
        found[name] = rank
        load[rank] += sizes[name]
    return found


def place(pieces: Iterable[Piece]) -> tuple[list[int], int]:
    """The start of each piece in the rank's stream, and the stream's size."""
    starts, end = [], 0
    for piece in pieces:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        starts.append(start)
        end = start + piece.nbytes
    return starts, end


def arrays_of(pieces: list[Piece], starts: list[int], rank: int) -> dict[str, Array]:
    """The rank's arrays with the chunks that it writes."""
    found: dict[str, Array] = {}
    for piece, start in zip(pieces, starts, strict=True):
        chunk = Chunk(rank=rank, start=start, offset=piece.offset, shape=piece.shape)
        earlier = found[piece.name].chunks if piece.name in found else ()
        found[piece.name] = Array(
            dtype=piece.dtype, shape=piece.whole, kind=piece.kind, chunks=(*earlier, chunk)
        )
    return found


def merged(parts: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """The arrays of all ranks as one table; a box that two ranks wrote counts once.

    Raises:
        InputError: Ranks differ in an array's type or shape.
    """
    found: dict[str, Array] = {}
    for part in parts:
        for name, array in part.items():
            known = found.get(name)
            if known is None:
                found[name] = array
                continue
            if (known.dtype, known.shape) != (array.dtype, array.shape):
                raise InputError(
                    f"The state's {name!r} is {known.dtype}{list(known.shape)} on one rank and "
                    f"{array.dtype}{list(array.shape)} on another.",
                    next_step="Mark what each rank has of its own with PerRank.",
                )
            seen = {chunk.offset for chunk in known.chunks}
            fresh = tuple(chunk for chunk in array.chunks if chunk.offset not in seen)
            found[name] = known.model_copy(update={"chunks": (*known.chunks, *fresh)})
    return found
