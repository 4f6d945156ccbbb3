"""The manifest: the one create-only object that makes a checkpoint exist.

A rank's state is one stream of bytes, cut into objects of ``part_size``; each array's chunks say in
which stream they lie, and where. So an object is what is uploaded, fetched and verified as a whole.
A manifest read back from a store is not trusted: its keys must be those that its run, attempt and
step give, and no chunk may lie outside its stream or its array.
"""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldenpath.checkpoint.dtypes import SIZES
from goldenpath.checkpoint.info import CheckpointInfo
from goldenpath.checkpoint.tree import array_names
from goldenpath.errors import DataDamaged
from goldenpath.provenance import sha256_hex
from goldenpath.refs import Kind, Ref
from goldenpath.store import keys

ATTEMPT = re.compile(r"[0-9a-f]{8}")
_Size = Field(ge=0, le=2**60)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoredObject(_Model):
    """One object of a rank's stream."""

    key: str
    size: int = _Size
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Part(_Model):
    """One rank's stream."""

    rank: int = Field(ge=0)
    size: int = _Size
    objects: tuple[StoredObject, ...]
    own: dict[str, Any] = {}
    """The rank's own values: path to structure."""


class Chunk(_Model):
    """A box of an array, dense in C order at ``start`` of a rank's stream."""

    rank: int = Field(ge=0)
    start: int = _Size
    offset: tuple[int, ...]
    shape: tuple[int, ...]


class Array(_Model):
    """One array or tensor of the state."""

    dtype: str
    shape: tuple[int, ...]
    kind: Literal["numpy", "scalar", "torch"]
    chunks: tuple[Chunk, ...]

    def nbytes(self, chunk: Chunk) -> int:
        """How many bytes a chunk has."""
        return math.prod(chunk.shape) * SIZES[self.dtype]


class Manifest(_Model):
    """One checkpoint: what it holds, and every object that it lies in."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    run: str
    step: int = Field(ge=0, lt=10**10)
    attempt: str = Field(pattern=r"^[0-9a-f]{8}$")
    world_size: int = Field(ge=1)
    created_at: str
    metrics: dict[str, float] = {}
    stall_s: float = Field(default=0.0, ge=0)
    """How long the copy kept the slowest rank's training loop: what a save costs."""
    part_size: int = Field(ge=1)
    tree: Any
    arrays: dict[str, Array]
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Bytes of state."""
        return sum(part.size for part in self.parts)

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        """Every object of every rank."""
        return tuple(item for part in self.parts for item in part.objects)

    def to_bytes(self) -> bytes:
        """The manifest as it is stored; its sha256 is the checkpoint's digest."""
        content = self.model_dump(by_alias=True)
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()

    def info(self, store_url: str, digest: str) -> CheckpointInfo:
        """What callers see of it."""
        return CheckpointInfo(
            ref=str(
                Ref(store=store_url, kind=Kind.CHECKPOINTS, name=self.run, number=self.step, digest=digest)
            ),
            step=self.step,
            attempt=self.attempt,
            size=self.size,
            world_size=self.world_size,
            metrics=self.metrics,
            created_at=self.created_at,
        )


def parse(data: bytes, *, run: str, step: int, where: str) -> Manifest:
    """Reads a manifest from a store, trusting nothing in it.

    Raises:
        DataDamaged: It is not a manifest of this run and step, or points outside what is its own.
    """
    try:
        found = Manifest.model_validate(json.loads(data))
    except (ValueError, RecursionError, ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise DataDamaged(f"The manifest {where} is unreadable: {reason}.") from None
    fault = _identity_fault(found, run, step) or _streams_fault(found) or _arrays_fault(found)
    if fault:
        raise DataDamaged(f"The manifest {where} is not sound: {fault}.")
    return found


def digest_of_bytes(data: bytes) -> str:
    """The digest that a reference to a checkpoint carries."""
    return sha256_hex(data)


def _identity_fault(found: Manifest, run: str, step: int) -> str:
    if found.run != run or found.step != step:
        return f"it says it is {found.run}:{found.step}, at the place of {run}:{step}"
    if [part.rank for part in found.parts] != list(range(found.world_size)):
        return f"its parts are not those of ranks 0 to {found.world_size - 1}"
    return ""


def _streams_fault(found: Manifest) -> str:
    for part in found.parts:
        if len(part.objects) != math.ceil(part.size / found.part_size):
            return f"rank {part.rank} has {len(part.objects)} objects for {part.size} bytes"
        for index, item in enumerate(part.objects):
            expected = keys.checkpoint_object(found.run, found.attempt, found.step, part.rank, index)
            if item.key != expected:
                return f"the object {item.key!r} is not the checkpoint's own ({expected})"
            if item.size != min(found.part_size, part.size - index * found.part_size):
                return f"the object {item.key} cannot have {item.size} bytes"
    return ""


def _arrays_fault(found: Manifest) -> str:
    total = 0
    for name, array in found.arrays.items():
        fault = array_fault(name, array)
        if fault:
            return fault
        for chunk in array.chunks:
            total += array.nbytes(chunk)
            if (
                chunk.rank >= found.world_size
                or chunk.start + array.nbytes(chunk) > found.parts[chunk.rank].size
            ):
                return f"a chunk of {name!r} lies outside the stream of rank {chunk.rank}"
    if total > found.size:
        return f"its arrays have {total} bytes in streams of {found.size}"
    trees = [found.tree, *(part.own for part in found.parts)]
    for tree in trees:
        for name in array_names(tree):
            if name not in found.arrays:
                return f"its structure names an array {name!r} that is not there"
    return ""


def array_fault(name: str, array: Array) -> str:
    """What is wrong with an array's chunks: they must tile its shape; empty if nothing is."""
    if array.dtype not in SIZES:
        return f"{name!r} has elements of the unknown type {array.dtype!r}"
    if any(extent < 0 for extent in array.shape):
        return f"{name!r} has the shape {array.shape}"
    covered = 0
    for chunk in array.chunks:
        if len(chunk.offset) != len(array.shape) or len(chunk.shape) != len(array.shape):
            return f"a chunk of {name!r} has other dimensions than its array"
        for offset, extent, whole in zip(chunk.offset, chunk.shape, array.shape, strict=True):
            if offset < 0 or extent < 0 or offset + extent > whole:
                return f"a chunk of {name!r} at {chunk.offset} with {chunk.shape} is outside {array.shape}"
        covered += math.prod(chunk.shape)
    if covered != math.prod(array.shape):
        return f"the chunks of {name!r} hold {covered} of {math.prod(array.shape)} elements"
    if any(a.offset == b.offset for a, b in pairwise(sorted(array.chunks, key=lambda c: c.offset))):
        return f"two chunks of {name!r} begin at the same place"
    return ""
