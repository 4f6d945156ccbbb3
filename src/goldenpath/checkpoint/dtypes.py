"""Names of element types: numpy's and torch's agree, and torch has some more."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldenpath.errors import InputError

NUMPY = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip
"""Types that numpy knows, as they are stored: little-endian."""

TORCH_ONLY = {
    "bfloat16": 2, "complex32": 4,
    "float8_e4m3fn": 1, "float8_e4m3fnuz": 1, "float8_e5m2": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip
"""Types that only torch knows, with their size in bytes."""

SIZES = {**{name: dtype.itemsize for name, dtype in NUMPY.items()}, **TORCH_ONLY}
"""Bytes an element, for every type that can be stored."""


def name_of(value: Any) -> str:
    """The name of an array's or tensor's element type.

    Raises:
        InputError: It cannot be stored.
    """
    name = str(value.dtype).removeprefix("torch.") if not hasattr(value.dtype, "kind") else value.dtype.name
    if name not in SIZES:
        raise InputError(
            f"Elements of type {value.dtype} cannot be stored.", next_step=f"Known types: {', '.join(SIZES)}."
        )
    return name
