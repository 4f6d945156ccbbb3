"""Export: a checkpoint as plain files that need nothing of this library.

``tensors.safetensors`` holds the arrays (the safetensors format: the length of a JSON header, the
header, the bytes), ``state.json`` the structure around them, ``manifest.json`` where it came from.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from goldenpath.checkpoint.catalogue import resolve
from goldenpath.checkpoint.dtypes import SIZES
from goldenpath.checkpoint.info import CheckpointInfo
from goldenpath.checkpoint.manifest import Array, Manifest
from goldenpath.checkpoint.reader import Want, read_streams
from goldenpath.errors import InputError
from goldenpath.store import Store

_NAMES = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8",
    "uint16": "U16", "uint32": "U32", "uint64": "U64", "float16": "F16", "float32": "F32", "float64": "F64",
    "bfloat16": "BF16", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip


def export(ref: str, dest: Path, *, store: Store | None = None) -> CheckpointInfo:
    """Writes a checkpoint's arrays and structure into a new folder, every byte verified before.

    Args:
        ref: A reference to a checkpoint; without a step, the newest.
        dest: The folder; it must not exist, and appears only when all is in it.
        store: The store that a short form refers to.

    Raises:
        InputError: The folder exists, or an array's type has no name in safetensors.
        DataDamaged: An object is missing or damaged.
    """
    if dest.exists():
        raise InputError(f"{dest} exists.", next_step="Name a folder that does not.")
    place, manifest, info = resolve(ref, store=store)
    header, size = _header(manifest)
    dest.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{dest.name}.", dir=dest.parent))
    try:
        _write_tensors(place, manifest, work / "tensors.safetensors", header, size)
        structure = {"tree": manifest.tree, "own": [part.own for part in manifest.parts]}
        (work / "state.json").write_text(json.dumps(structure, indent=1), encoding="utf-8")
        about = {"ref": info.ref, "step": info.step, "metrics": info.metrics, "created_at": info.created_at}
        (work / "manifest.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
        work.chmod(0o755)
        work.rename(dest)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return info


def _header(manifest: Manifest) -> tuple[bytes, int]:
    content: dict[str, Any] = {"__metadata__": {"run": manifest.run, "step": str(manifest.step)}}
    end = 0
    for name, array in manifest.arrays.items():
        if array.dtype not in _NAMES:
            raise InputError(f"{name!r} is of {array.dtype}, which safetensors cannot name.")
        size = _nbytes(array)
        content[name] = {
            "dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [end, end + size],
        }  # fmt: skip
        end += size
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, end


def _write_tensors(store: Store, manifest: Manifest, path: Path, header: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + size)
    if size == 0:
        return
    content = np.memmap(path, dtype=np.uint8, mode="r+", offset=len(header), shape=(size,))
    wants: list[Want] = []
    scatters: list[Callable[[], None]] = []
    start = 0
    for array in manifest.arrays.values():
        end = start + _nbytes(array)
        _plan(array, content[start:end], wants, scatters)
        start = end
    read_streams(store, manifest, wants)
    for scatter in scatters:
        scatter()
    content.flush()


def _plan(
    array: Array, place: np.ndarray[Any, Any], wants: list[Want], scatters: list[Callable[[], None]]
) -> None:
    # One more dimension, the bytes of an element, so that types that numpy lacks are moved too.
    target = place.reshape(*array.shape, SIZES[array.dtype])
    for chunk in array.chunks:
        box = target[tuple(slice(o, o + n) for o, n in zip(chunk.offset, chunk.shape, strict=True))]
        if box.size == 0:
            continue
        if box.flags.c_contiguous:
            sink = box.reshape(-1)
        else:
            sink = np.empty(box.size, dtype=np.uint8)
            scatters.append(functools.partial(np.copyto, box, sink.reshape(box.shape)))
        wants.append(Want(chunk.rank, chunk.start, array.nbytes(chunk), sink.data))


def _nbytes(array: Array) -> int:
    return int(np.prod(array.shape, dtype=np.int64)) * SIZES[array.dtype]
