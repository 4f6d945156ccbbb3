"""MLflow's way to name a model is understood wherever a model is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldenpath import registry, settings
from goldenpath.cli import main as cli
from goldenpath.errors import InputError, NotFound
from goldenpath.refs import Kind
from goldenpath.registry import Version
from goldenpath.store import Store, keys, open_store


@pytest.fixture
def store() -> Store:
    """The project's own store, with one registered model that is champion."""
    place = open_store(settings.load().store)
    Path("model").mkdir()
    Path("model/weights.bin").write_text("weights")
    published = registry.publish(Path("model"), "digits", store=place)
    found = Version(
        name="digits", number=1, digest=published.rpartition(":")[2], run="r", evaluation="", gate="",
        verdict="passed", registered_at=datetime.now(UTC),
    )  # fmt: skip
    place.create(keys.ref(Kind.MODELS, "digits", 1), found.model_dump_json(by_alias=True).encode())
    epoch = {
        "schema": 1,
        "model": "digits",
        "epoch": 1,
        "aliases": {"champion": found.ref(place.url)},
        "moved_at": datetime.now(UTC).isoformat(),
    }
    place.create(keys.alias_epoch("digits", 1), json.dumps(epoch).encode())
    return place


@pytest.mark.parametrize("text", ["models:/digits@champion", "models:/digits/1", "digits:1"])
def test_every_way_to_name_a_model_verifies_it(store: Store, text: str) -> None:
    done = CliRunner().invoke(cli.app, ["model", "verify", text, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["name"] == "digits"


def test_what_is_not_there_is_told(store: Store) -> None:
    with pytest.raises(NotFound, match="no version 2"):
        registry.from_tracked("models:/digits/2", store=store)
    with pytest.raises(NotFound, match="It has: champion"):
        registry.from_tracked("models:/digits@challenger", store=store)
    with pytest.raises(InputError, match="names no version"):
        registry.from_tracked("models:/digits", store=store)
