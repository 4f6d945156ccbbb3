"""Canonical JSON (RFC 8785), the digests made from it, and what of a configuration counts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import rfc8785
from pydantic import BaseModel, TypeAdapter

from goldenpath.errors import InputError


def canonical_json(value: Any) -> bytes:
    """The one JSON text of a value (RFC 8785): keys ordered, no white space, shortest numbers.

    Raises:
        InputError: The value holds something that JSON cannot carry exactly (NaN, an integer over
            2**53, another type).
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise InputError(f"The value cannot be written as canonical JSON: {error}.") from None


def sha256_hex(data: bytes | bytearray | memoryview) -> str:
    """The sha256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """The sha256 of a value's canonical JSON, in hex."""
    return sha256_hex(canonical_json(value))


def identity_of(value: Any) -> Any:
    """A value as JSON, with only what decides a result.

    A model may name fields that do not, such as a queue or a timeout, in a class variable
    ``outside_identity``; they are left out wherever the model stands.
    """
    if isinstance(value, BaseModel):
        outside: frozenset[str] = getattr(type(value), "outside_identity", frozenset())
        return {
            name: identity_of(getattr(value, name))
            for name in type(value).model_fields
            if name not in outside
        }
    if isinstance(value, Mapping):
        return {str(name): identity_of(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [identity_of(item) for item in value]
    return TypeAdapter(Any).dump_python(value, mode="json")
