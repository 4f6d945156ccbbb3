"""From a manifest to a state: into the arrays that the caller has, or into new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from goldenpath.checkpoint.dtypes import NUMPY, name_of
from goldenpath.checkpoint.manifest import Array, Manifest
from goldenpath.checkpoint.reader import Want, read_streams
from goldenpath.checkpoint.tree import array_names, is_torch, put_together, take_apart
from goldenpath.errors import InputError
from goldenpath.store import Store

_SHOWN = 5


def load(store: Store, manifest: Manifest, *, rank: int, world_size: int, into: Any = None) -> Any:
    """Loads a checkpoint, verifying every object that it reads.

    Args:
        store: Where the checkpoint is.
        manifest: What it holds.
        rank: Whose own values are wanted.
        world_size: How many ranks load; with another number than saved, own values are left out.
        into: A state of the same structure, whose arrays and tensors are filled in place; None makes
            new ones, whole on every rank.

    Raises:
        InputError: ``into`` is the state of another model: the first keys that differ are named.
        DataDamaged: An object is missing or damaged. Arrays may have been written to in part.
    """
    own = manifest.parts[rank].own if world_size == manifest.world_size else None
    names = set(array_names(manifest.tree)) | set(array_names(own or {}))
    wanted = {name: manifest.arrays[name] for name in names}
    if into is None:
        targets: dict[str, Any] = {name: _new(array) for name, array in wanted.items()}
    else:
        targets = _targets(into, wanted, rank=rank, with_own=own is not None)
    wants, finish = _wants(targets, manifest.arrays)
    read_streams(store, manifest, wants)
    finish()

    def array(name: str) -> Any:
        return targets[name][()] if manifest.arrays[name].kind == "scalar" else targets[name]

    return put_together(manifest.tree, array, own)


def own_paths(manifest: Manifest) -> tuple[str, ...]:
    """The paths of all values that each rank has of its own."""
    return tuple(sorted({path for part in manifest.parts for path in part.own}))


def _new(array: Array) -> Any:
    if array.kind == "torch":
        from goldenpath.checkpoint.torch_state import empty_tensor

        return empty_tensor(array)
    return np.empty(array.shape, dtype=NUMPY[array.dtype])


def _targets(into: Any, wanted: Mapping[str, Array], *, rank: int, with_own: bool) -> dict[str, Any]:
    leaves = take_apart(into, rank=rank).leaves
    given = {leaf.name: leaf.value for leaf in leaves if with_own or leaf.own is None}
    missing = [name for name in given if name not in wanted]
    unexpected = [name for name in wanted if name not in given]
    differing = [
        f"{name!r} is {array.dtype}{list(array.shape)} and not "
        f"{name_of(given[name])}{list(given[name].shape)}"
        for name, array in wanted.items()
        if name in given and (name_of(given[name]), tuple(given[name].shape)) != (array.dtype, array.shape)
    ]
    faults = [
        *([f"it has no {_some(missing)}"] if missing else []),
        *([f"it has {_some(unexpected)}, which the state has not"] if unexpected else []),
        *differing[:_SHOWN],
    ]
    if faults:
        raise InputError(
            f"The checkpoint is not one of this state: {'; '.join(faults)}.",
            next_step="Restore into the model that was saved, or restore() without a state.",
        )
    return {
        # What cannot take the bytes in place (a numpy scalar, another byte order) is made anew.
        name: value if is_torch(value) or _is_fillable(value) else _new(wanted[name])
        for name, value in given.items()
    }


def _is_fillable(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.writeable and value.dtype == NUMPY[name_of(value)]


def _wants(targets: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[list[Want], Callable[[], None]]:
    tensors = {name: target for name, target in targets.items() if is_torch(target)}
    wants: list[Want] = []
    scatters: list[tuple[Any, Any]] = []
    for name, target in targets.items():
        if name not in tensors:
            _numpy_wants(arrays[name], target, wants, scatters)
    finish_tensors: Callable[[], None] | None = None
    if tensors:
        from goldenpath.checkpoint.torch_state import wants_of

        more, finish_tensors = wants_of(tensors, arrays)
        wants.extend(more)

    def finish() -> None:
        for destination, source in scatters:
            np.copyto(destination, source)
        if finish_tensors is not None:
            finish_tensors()

    return wants, finish


def _numpy_wants(array: Array, target: Any, wants: list[Want], scatters: list[tuple[Any, Any]]) -> None:
    for chunk in array.chunks:
        box = target[(*(slice(o, o + n) for o, n in zip(chunk.offset, chunk.shape, strict=True)), ...)]
        if box.size == 0:
            continue
        if not box.flags.c_contiguous:
            destination, box = box, np.empty(chunk.shape, dtype=target.dtype)
            scatters.append((destination, box))
        sink = memoryview(box.reshape(-1).view(np.uint8))
        wants.append(Want(chunk.rank, chunk.start, array.nbytes(chunk), sink))


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(names)[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
