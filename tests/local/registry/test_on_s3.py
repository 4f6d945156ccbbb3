"""The registry on a real S3 server: create-only writes decide there too."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mlflow import MlflowClient

from goldenpath import registry, settings
from goldenpath.components.registry.register import register as register_component
from goldenpath.components.run.pin import pin as pin_component
from goldenpath.errors import DataDamaged, StaleChampion
from goldenpath.provenance import Code
from goldenpath.registry import Evidence
from goldenpath.steps import RunContext, in_run
from goldenpath.store import Store, put_document

pytestmark = pytest.mark.local


def _published(store: Store, folder: Path, content: bytes) -> str:
    folder.mkdir()
    (folder / "model.bin").write_bytes(content)
    (folder / "ö 1%41.json").write_text("{}")
    return registry.publish(folder, "digits", store=store)


def _evidence(store: Store, model: str) -> Evidence:
    evaluation = put_document(store, {"model": model})
    gate = put_document(store, {"verdict": "passed", "candidate": evaluation})
    return Evidence(
        evaluation=evaluation, gate=gate, override="", run="run-1", code=Code(), image="", config_digest=""
    )


def test_a_model_in_several_parts_comes_back_whole(s3_store: Store, tmp_path: Path) -> None:
    content = os.urandom(40 << 20)
    ref = _published(s3_store, tmp_path / "model", content)
    got = registry.fetch(ref, tmp_path / "got", store=s3_store)
    assert (got / "model.bin").read_bytes() == content
    assert (got / "ö 1%41.json").read_text() == "{}"
    registry.verify(ref, store=s3_store)
    prefix = registry.read_manifest(ref, store=s3_store).prefix
    s3_store.put(prefix + "model.bin", content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DataDamaged, match=r"model\.bin"):
        registry.verify(ref, store=s3_store)


def test_eight_registrations_and_promotions_at_once(s3_store: Store, tmp_path: Path) -> None:
    models = [_published(s3_store, tmp_path / str(n), bytes([n])) for n in range(8)]

    def register(model: str) -> str:
        evidence = _evidence(s3_store, model)
        return registry.register(model, "digits", evidence=evidence, store=s3_store, tracking="").model

    def promote(model: str) -> str:
        try:
            moves = {"champion": model}
            return registry.move_alias("digits", moves, expected_champion="", store=s3_store, tracking="").of(
                "champion"
            )
        except StaleChampion:
            return ""

    with ThreadPoolExecutor(8) as pool:
        registered = list(pool.map(register, models))
        won = list(filter(None, pool.map(promote, registered)))
    assert sorted(version.number for version in registry.versions("digits", store=s3_store)) == list(
        range(1, 9)
    )
    assert len(won) == 1
    assert registry.aliases("digits", store=s3_store).refs == {"champion": won[0]}
    assert len(list(registry.alias_history("digits", store=s3_store))) == 1


def test_the_components_register_and_pin(
    s3_store: Store, tmp_path: Path, mlflow_url: str, s3_store_url: str
) -> None:
    model = _published(s3_store, tmp_path / "model", b"weights")
    evidence = _evidence(s3_store, model)
    environ = {"GOLDENPATH_STORE": s3_store_url, "MLFLOW_TRACKING_URI": mlflow_url, **os.environ}
    context = RunContext(
        run="run-1",
        settings=settings.load(start=tmp_path, environ=environ),
        code=Code(commit="c" * 40, digest="d"),
        image="sha256:i",
        config_digest="f",
    )
    inputs = {"model": model, "name": "digits", "evaluation": evidence.evaluation, "gate": evidence.gate}
    with in_run(context):
        done = register_component(**inputs)
        assert register_component(**inputs) == done
        registry.move_alias(
            "digits", {"champion": done.model}, expected_champion="", store=s3_store, tracking=mlflow_url
        )
        pinned = pin_component(model="digits", datasets={"train": f"datasets/d@sha256:{'1' * 64}"})
    assert (pinned.champion, pinned.champion_epoch) == (done.model, 1)
    client = MlflowClient(mlflow_url, mlflow_url)
    version = client.get_model_version_by_alias("digits", "champion")
    assert version.tags["goldenpath.ref"] == done.model
    assert version.tags["goldenpath.code.commit"] == "c" * 40
    assert version.source.startswith(s3_store_url + "/models/digits/sha256-")
