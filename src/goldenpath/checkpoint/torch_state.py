"""Torch tensors, through the planners of torch Distributed Checkpoint (DCP).

DCP's planners know which boxes of a sharded tensor a rank holds, and which stored boxes fill the
tensors of a rank that loads, whatever the two numbers of ranks are. Bytes, digests and the commit are
this library's: DCP's own ``save`` and ``load`` pickle their metadata, verify nothing, and wait in
collectives that a failed rank leaves the others in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import WriteItem
from torch.distributed.tensor import DTensor, Replicate

from goldenpath.checkpoint.dtypes import name_of
from goldenpath.checkpoint.layout import Piece
from goldenpath.checkpoint.manifest import Array, Chunk
from goldenpath.checkpoint.reader import Want
from goldenpath.errors import InputError


def is_sharded(tensor: torch.Tensor) -> bool:
    """Whether torch has spread the tensor over ranks."""
    return isinstance(tensor, DTensor)


def pieces_of(tensors: Mapping[str, torch.Tensor]) -> list[Piece]:
    """The boxes of some tensors that this rank writes.

    Raises:
        InputError: A tensor is sparse or quantised.
    """
    for name, tensor in tensors.items():
        if tensor.layout is not torch.strided or tensor.is_quantized:
            raise InputError(
                f"The state's {name!r} is a {tensor.layout} tensor of {tensor.dtype}, which is not dense.",
                next_step="Save its dense parts.",
            )
    planner = DefaultSavePlanner(flatten_state_dict=False)
    mine: dict[str, Any] = {name: tensor for name, tensor in tensors.items() if _is_writer(tensor)}
    planner.set_up_planner(mine, is_coordinator=True)
    return [_piece(planner, item) for item in planner.create_local_plan().items]


def _is_writer(tensor: torch.Tensor) -> bool:
    # Where a mesh replicates a shard (HSDP), the first of its holders writes it.
    if not isinstance(tensor, DTensor):
        return True
    place = tensor.device_mesh.get_coordinate()
    if place is None:
        return False
    return all(
        at == 0 or not isinstance(placement, Replicate)
        for at, placement in zip(place, tensor.placements, strict=True)
    )


def _piece(planner: DefaultSavePlanner, item: WriteItem) -> Piece:
    # Every item is a tensor's: the structure around them is kept as JSON elsewhere.
    about: Any = item.tensor_data
    source: Any = planner.resolve_data(item)
    tensor: torch.Tensor = source.detach()

    def copy(place: memoryview) -> None:
        if tensor.numel():
            torch.frombuffer(place, dtype=tensor.dtype).view(tensor.shape).copy_(tensor)

    return Piece(
        name=item.index.fqn,
        dtype=name_of(tensor),
        kind="torch",
        whole=tuple(about.size),
        offset=tuple(about.chunk.offsets),
        shape=tuple(about.chunk.sizes),
        copy=copy,
    )


def wants_of(
    tensors: Mapping[str, torch.Tensor], arrays: Mapping[str, Array]
) -> tuple[list[Want], Callable[[], None]]:
    """What must be read to fill some tensors in place, and what to call when it was."""
    planner = DefaultLoadPlanner(flatten_state_dict=False)
    planner.set_up_planner(dict(tensors), _metadata({name: arrays[name] for name in tensors}), True)
    reads = _Reads()
    for item in planner.create_local_plan().items:
        array = arrays[item.storage_index.fqn]
        chunk = _chunk_at(array, tuple(item.storage_index.offset or ()))
        reads.add(
            array,
            chunk,
            destination=planner.resolve_tensor(item).detach(),
            offsets=tuple(item.storage_offsets),
            lengths=tuple(item.lengths),
        )
    return reads.wants, reads.finish


@dataclass(slots=True)
class _Scatter:
    destination: torch.Tensor
    source: torch.Tensor


class _Reads:
    """Boxes to read: straight into a tensor's memory where it has the box's shape, else by a copy."""

    def __init__(self) -> None:
        self.wants: list[Want] = []
        self._scatters: list[_Scatter] = []
        self._chunks: dict[tuple[int, int], torch.Tensor] = {}

    def add(
        self,
        array: Array,
        chunk: Chunk,
        *,
        destination: torch.Tensor,
        offsets: tuple[int, ...],
        lengths: tuple[int, ...],
    ) -> None:
        if destination.numel() == 0:
            return
        if lengths == chunk.shape and destination.is_contiguous() and destination.device.type == "cpu":
            self._want(array, chunk, destination)
            return
        # Several destinations may lie in one stored box: it is read once.
        place = (chunk.rank, chunk.start)
        if place not in self._chunks:
            self._chunks[place] = torch.empty(chunk.shape, dtype=getattr(torch, array.dtype))
            self._want(array, chunk, self._chunks[place])
        box = self._chunks[place]
        for dim, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
            box = box.narrow(dim, offset, length)
        self._scatters.append(_Scatter(destination, box))

    def _want(self, array: Array, chunk: Chunk, tensor: torch.Tensor) -> None:
        sink = tensor.view(-1).view(torch.uint8).numpy().data
        self.wants.append(Want(chunk.rank, chunk.start, array.nbytes(chunk), sink))

    def finish(self) -> None:
        for scatter in self._scatters:
            scatter.destination.copy_(scatter.source)


def empty_tensor(array: Array) -> torch.Tensor:
    """A tensor on the CPU for a whole array."""
    return torch.empty(array.shape, dtype=getattr(torch, array.dtype))


def _metadata(arrays: Mapping[str, Array]) -> Metadata:
    found: dict[str, Any] = {
        name: TensorStorageMetadata(
            properties=TensorProperties(dtype=getattr(torch, array.dtype)),
            size=torch.Size(array.shape),
            chunks=[
                ChunkStorageMetadata(offsets=torch.Size(chunk.offset), sizes=torch.Size(chunk.shape))
                for chunk in array.chunks
            ],
        )
        for name, array in arrays.items()
    }
    return Metadata(state_dict_metadata=found)


def _chunk_at(array: Array, offset: tuple[int, ...]) -> Chunk:
    for chunk in array.chunks:
        if chunk.offset == offset:
            return chunk
    raise AssertionError(f"DCP planned a chunk at {offset} that the manifest does not have")
