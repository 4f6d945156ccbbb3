"""Canonical JSON (RFC 8785) and the digests made from it."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

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


def sha256_hex(data: bytes) -> str:
    """The sha256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """The sha256 of a value's canonical JSON, in hex."""
    return sha256_hex(canonical_json(value))
