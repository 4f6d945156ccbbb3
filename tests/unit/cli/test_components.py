"""``goldenpath components``: the catalogue."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from goldenpath.cli.main import app
from goldenpath.errors import ConfigError
from goldenpath.steps import CATALOGUE


def test_one_component_is_shown_with_its_choices() -> None:
    done = CliRunner().invoke(app, ["components", "run.finish", "--json"])
    shown = json.loads(done.stdout)
    assert shown["name"] == "run.finish"
    assert [(i["name"], i["required"]) for i in shown["inputs"]] == [
        ("outcome", True),
        ("reason", False),
        ("same_as", False),
    ]
    assert "rolled_back" in shown["inputs"][0]["choices"]
    assert shown["outputs"] == [{"name": "outcome", "type": "str", "doc": ""}]


def test_the_catalogue_lists_every_component_with_its_schemas() -> None:
    done = CliRunner().invoke(app, ["components", "--json"])
    shown = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert list(shown) == list(CATALOGUE)
    job = next(i for i in shown["training.launch"]["inputs"] if i["name"] == "job")
    assert job["schema"]["type"] == "object"


def test_the_text_names_the_fields_of_a_configuration() -> None:
    done = CliRunner().invoke(app, ["components", "data.snapshot"])
    assert "options (SnapshotOptions, default {})" in done.stdout
    assert "      .preset: " in done.stdout


def test_an_unknown_component_is_told_with_the_nearest() -> None:
    done = CliRunner().invoke(app, ["components", "data.snapshoot"])
    assert isinstance(done.exception, ConfigError)
    assert "Did you mean 'data.snapshot'?" in str(done.exception)
