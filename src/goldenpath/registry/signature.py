"""Signatures after OpenSSF's model signing: ``model.sig`` beside the manifest, by an elliptic key.

The signed statement lists the files with the digests of the manifest, so that a model is signed where it
lies, without being fetched; ``model_signing verify key`` accepts the same folder once it is downloaded.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any

from goldenpath.errors import ConfigError, Refused
from goldenpath.registry.manifest import RESERVED, SIGNATURE, Manifest, read_manifest
from goldenpath.registry.versions import resolve, store_of
from goldenpath.store import Store


def sign(ref: str, *, store: Store, key: Path) -> str:
    """Signs a published model, replacing an earlier signature.

    Args:
        ref: The model's reference.
        store: The store that a short reference refers to.
        key: The file of the private key: PEM, elliptic, without a password.

    Returns:
        The signature's URI.

    Raises:
        ConfigError: The key cannot be used, or the extra ``signing`` is not installed.
    """
    config = _library("signing").Config()
    manifest = read_manifest(ref, store=store)
    where = store_of(resolve(ref, store=store), store)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SIGNATURE
        try:
            config.use_elliptic_key_signer(private_key=key)
        except (OSError, ValueError, TypeError) as error:
            raise _unusable(key, error) from None
        config.set_hashing_config(_known(manifest)).sign(Path(folder) / manifest.name, path)
        where.put(manifest.prefix + SIGNATURE, path.read_bytes())
    return where.uri(manifest.prefix + SIGNATURE)


def check_signature(manifest: Manifest, *, store: Store, trusted: Path) -> None:
    """Checks that a model was signed by the holder of a key, as its manifest describes it.

    Args:
        manifest: The model's manifest.
        store: The store that holds the model.
        trusted: The file of the public key, in PEM.

    Raises:
        Refused: There is no signature, or it is not by that key, or of other files.
        ConfigError: The key cannot be used, or the extra ``signing`` is not installed.
    """
    config = _library("verifying").Config()
    from cryptography.exceptions import InvalidSignature

    model = f"{manifest.name}@sha256:{manifest.digest}"
    data = store.get_or_none(manifest.prefix + SIGNATURE)
    if data is None:
        raise Refused(f"The model {model} is not signed.", next_step="See `goldenpath model sign`.")
    try:
        config.use_elliptic_key_verifier(public_key=trusted)
    except (OSError, ValueError, TypeError) as error:
        raise _unusable(trusted, error) from None
    config.set_hashing_config(_known(manifest))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SIGNATURE
        path.write_bytes(data)
        try:
            config.verify(Path(folder) / manifest.name, path)
        except (ValueError, LookupError, TypeError, AttributeError, InvalidSignature) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise Refused(
                f"The signature of {model} does not hold for {trusted.name}: {reason}.",
                next_step="Do not serve this model.",
            ) from None


def _known(manifest: Manifest) -> Any:
    """A hashing configuration that answers from our manifest instead of reading files."""
    hashing: Any = importlib.import_module("model_signing.hashing")
    signed: Any = importlib.import_module("model_signing.manifest")
    kind = signed.SerializationType.from_args(
        {
            "method": "files",
            "hash_type": "sha256",
            "allow_symlinks": False,
            "ignore_paths": sorted(RESERVED),
        }
    )
    items = [
        kind.new_item(file.path, hashing.hashing.Digest("sha256", bytes.fromhex(file.sha256)))
        for file in manifest.files
    ]

    class Known(hashing.Config):  # type: ignore[misc]  # a base that is only known when it is installed
        def hash(self, model_path: Any, *, files_to_hash: Any = None) -> Any:
            del model_path, files_to_hash
            return signed.Manifest(manifest.name, items, kind)

    return Known()


def _library(name: str) -> Any:
    try:
        return importlib.import_module(f"model_signing.{name}")
    except ImportError as error:
        raise ConfigError(
            f"Signatures need the library model-signing: {error}.", next_step="Install goldenpath[signing]."
        ) from None


def _unusable(key: Path, error: Exception) -> ConfigError:
    reason = str(error).partition("\n")[0]
    return ConfigError(
        f"The key {key} cannot be used: {reason}.", next_step="Give an elliptic key (P-256) in PEM."
    )
