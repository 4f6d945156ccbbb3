"""What the registry gives a rollout."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from goldenpath import registry
from goldenpath.errors import Refused
from goldenpath.serving.catalog import Catalog
from goldenpath.store import Store


def test_only_a_model_signed_by_the_trusted_key_comes_to_a_server(file_store: Store, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").write_text("weights")
    model = registry.publish(tmp_path / "model", "digits", store=file_store)
    private = ec.generate_private_key(ec.SECP256R1())
    key, trusted = tmp_path / "key.pem", tmp_path / "key.pub"
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    trusted.write_bytes(
        private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    catalog = Catalog(service="digits", store=file_store, tracking="", run="r", trusted_key=trusted)
    with pytest.raises(Refused, match="is not signed"):
        catalog.fetch(model, tmp_path / "served")
    assert not (tmp_path / "served").exists()
    registry.sign(model, store=file_store, key=key)
    assert (catalog.fetch(model, tmp_path / "served") / "weights.bin").read_text() == "weights"
