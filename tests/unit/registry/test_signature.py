"""Signatures: who signed, and that it is these files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from typer.testing import CliRunner

from goldenpath import registry
from goldenpath.cli import main as cli
from goldenpath.errors import ConfigError, DataDamaged, Refused
from goldenpath.provenance import Code
from goldenpath.registry import Evidence
from goldenpath.store import Store, put_document


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    """Two key pairs: ours and a stranger's."""
    made = {}
    for owner in ("ours", "stranger"):
        private = ec.generate_private_key(ec.SECP256R1())
        made[owner] = tmp_path / f"{owner}.pem"
        made[owner].write_bytes(
            private.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        made[f"{owner}-public"] = tmp_path / f"{owner}.pub"
        made[f"{owner}-public"].write_bytes(
            private.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
    return made


@pytest.fixture
def model(file_store: Store, tmp_path: Path) -> str:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "model.bin").write_text("weights")
    (folder / "sub" / "config.json").write_text("{}")
    return registry.publish(folder, "digits", store=file_store)


def test_a_signed_model_is_accepted_with_its_key_alone(
    file_store: Store, model: str, keys: dict[str, Path]
) -> None:
    with pytest.raises(Refused, match="is not signed"):
        registry.verify(model, store=file_store, trusted_key=keys["ours-public"])
    signature = registry.sign(model, store=file_store, key=keys["ours"])
    assert signature.endswith("/model.sig")
    registry.verify(model, store=file_store, trusted_key=keys["ours-public"])
    with pytest.raises(Refused, match=r"does not hold for stranger\.pub"):
        registry.verify(model, store=file_store, trusted_key=keys["stranger-public"])
    # Signing again replaces: keys are rotated.
    registry.sign(model, store=file_store, key=keys["stranger"])
    registry.verify(model, store=file_store, trusted_key=keys["stranger-public"])


def test_the_signature_of_another_model_is_refused(
    file_store: Store, model: str, keys: dict[str, Path], tmp_path: Path
) -> None:
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    (other_folder / "model.bin").write_text("other weights")
    other = registry.publish(other_folder, "digits", store=file_store)
    registry.sign(other, store=file_store, key=keys["ours"])
    prefixes = [registry.read_manifest(ref, store=file_store).prefix for ref in (other, model)]
    file_store.put(prefixes[1] + "model.sig", file_store.get(prefixes[0] + "model.sig"))
    with pytest.raises(Refused, match="Signature mismatch"):
        registry.verify(model, store=file_store, trusted_key=keys["ours-public"])


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00\xff", b"[1]", b'{"dsseEnvelope": 3}'])
def test_a_broken_signature_is_refused(
    file_store: Store, model: str, keys: dict[str, Path], content: bytes
) -> None:
    file_store.put(registry.read_manifest(model, store=file_store).prefix + "model.sig", content)
    with pytest.raises(Refused, match="does not hold"):
        registry.verify(model, store=file_store, trusted_key=keys["ours-public"])


def test_flipped_bytes_are_damage_whoever_signed(
    file_store: Store, model: str, keys: dict[str, Path]
) -> None:
    registry.sign(model, store=file_store, key=keys["ours"])
    file_store.put(registry.read_manifest(model, store=file_store).prefix + "model.bin", b"Weights")
    with pytest.raises(DataDamaged, match=r"model\.bin"):
        registry.verify(model, store=file_store, trusted_key=keys["ours-public"])


def test_an_unusable_key_is_told(file_store: Store, model: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        registry.sign(model, store=file_store, key=tmp_path / "none.pem")
    (tmp_path / "junk.pem").write_text("junk")
    with pytest.raises(ConfigError, match="cannot be used"):
        registry.sign(model, store=file_store, key=tmp_path / "junk.pem")


def test_the_librarys_own_command_accepts_the_downloaded_folder(
    file_store: Store, model: str, keys: dict[str, Path], tmp_path: Path
) -> None:
    registry.sign(model, store=file_store, key=keys["ours"])
    prefix = registry.read_manifest(model, store=file_store).prefix
    folder = tmp_path / "downloaded"
    for entry in file_store.list(prefix):
        target = folder / entry.key.removeprefix(prefix)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file_store.get(entry.key))
    command = [
        sys.executable, "-m", "model_signing", "verify", "key", str(folder),
        "--signature", str(folder / "model.sig"), "--public_key", str(keys["ours-public"]),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "model.bin").write_text("tampered")
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_a_model_is_signed_as_it_is_registered_and_only_then_fetched_by_who_asks_for_it(
    file_store: Store, model: str, keys: dict[str, Path], tmp_path: Path
) -> None:
    evaluation = put_document(file_store, {"model": model})
    gate = put_document(file_store, {"verdict": "passed", "candidate": evaluation})
    evidence = Evidence(
        evaluation=evaluation, gate=gate, override="", run="r", code=Code(), image="", config_digest=""
    )
    got, trusted = tmp_path / "got", keys["ours-public"]
    with pytest.raises(Refused, match="is not signed"):
        registry.fetch(model, got, store=file_store, trusted_key=trusted)
    assert not got.exists()
    done = registry.register(
        model, "digits", evidence=evidence, store=file_store, tracking="", signing_key=keys["ours"]
    )
    assert registry.fetch(done.model, got, store=file_store, trusted_key=trusted) == got
    assert sorted(path.name for path in got.rglob("*") if path.is_file()) == ["config.json", "model.bin"]


def test_a_model_that_cannot_be_signed_gets_no_number(file_store: Store, model: str, tmp_path: Path) -> None:
    evaluation = put_document(file_store, {"model": model})
    gate = put_document(file_store, {"verdict": "passed", "candidate": evaluation})
    evidence = Evidence(
        evaluation=evaluation, gate=gate, override="", run="r", code=Code(), image="", config_digest=""
    )
    with pytest.raises(ConfigError, match="cannot be used"):
        registry.register(
            model, "digits", evidence=evidence, store=file_store, tracking="", signing_key=tmp_path / "no.pem"
        )
    assert registry.numbers("digits", store=file_store) == []


def test_the_commands_sign_and_verify_with_the_keys_of_the_settings(
    file_store: Store, model: str, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDENPATH_STORE", file_store.url)
    assert isinstance(CliRunner().invoke(cli.app, ["model", "sign", model]).exception, ConfigError)
    monkeypatch.setenv("GOLDENPATH_SIGNING_KEY", str(keys["ours"]))
    monkeypatch.setenv("GOLDENPATH_TRUSTED_KEY", str(keys["ours-public"]))
    assert isinstance(CliRunner().invoke(cli.app, ["model", "verify", model]).exception, Refused)
    signed = CliRunner().invoke(cli.app, ["model", "sign", model])
    assert signed.stdout.strip().endswith("/model.sig")
    assert CliRunner().invoke(cli.app, ["model", "verify", model]).exit_code == 0
    stranger = ["model", "verify", model, "--key", str(keys["stranger-public"])]
    assert isinstance(CliRunner().invoke(cli.app, stranger).exception, Refused)
