"""Documents: JSON values stored under the digest of their canonical text."""

from __future__ import annotations

import json
from typing import Any

from goldenpath.errors import DataDamaged, RefError
from goldenpath.provenance import canonical_json, sha256_hex
from goldenpath.store import keys
from goldenpath.store.client import Store, open_store


def put_document(store: Store, value: Any) -> str:
    """Stores a JSON value once and returns its URI, ``<store>/manifests/sha256/<hex>``."""
    data = canonical_json(value)
    key = keys.manifest(sha256_hex(data))
    # Not create: writing it again makes an old one young in the eyes of garbage collection.
    store.put(key, data)
    return store.uri(key)


def get_document(uri: str) -> Any:
    """Reads a document back.

    Raises:
        RefError: The URI is not one of a document.
        NotFound: There is no such document.
        DataDamaged: The stored bytes are not those of the digest.
    """
    store_url, marker, hex_digest = uri.rpartition("/manifests/sha256/")
    if not marker or len(hex_digest) != 64:
        raise RefError(
            f"{uri!r} is not a document's URI.",
            next_step="It ends in /manifests/sha256/<64 hexadecimal digits>.",
        )
    data = open_store(store_url).get(keys.manifest(hex_digest))
    if sha256_hex(data) != hex_digest:
        raise DataDamaged(f"The document {uri} is damaged: its bytes have the sha256 {sha256_hex(data)}.")
    return json.loads(data)
