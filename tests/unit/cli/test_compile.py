"""``goldenpath compile``: a path as a file for an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from goldenpath.cli.main import app
from goldenpath.errors import ConfigError
from goldenpath.pipelines.pods import QUEUE_LABEL

PATH_FILE = """\
path: train-to-serve
model: digits
source: ""
data: {test: {source: "s3://lake/test"}}
training: {entry_point: team.train}
evaluation: {evaluator: "team.evaluate:evaluate"}
promotion: null
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "path.yaml"
    place.write_text(PATH_FILE)
    return place


def queued(text: str) -> set[str]:
    spec = yaml.safe_load(text)["spec"]
    return {t["name"] for t in spec["templates"] if QUEUE_LABEL in t.get("metadata", {}).get("labels", {})}


def test_the_file_is_written_where_it_was_asked_for(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "argo.yaml"
    done = CliRunner().invoke(
        app, ["compile", "train-to-serve", "-f", str(file), "--to", "argo", "-o", str(output)]
    )
    assert (done.exit_code, done.stdout) == (0, "")
    assert yaml.safe_load(output.read_text())["kind"] == "WorkflowTemplate"
    assert queued(output.read_text()) == set()


@pytest.mark.parametrize(
    ("changes", "labelled"),
    [([], True), (["--set", "training.queue=null"], False), (["--set", "training.queue=team-b"], True)],
)
def test_the_settings_queue_holds_where_the_file_is_silent(
    file: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], labelled: bool
) -> None:
    monkeypatch.setenv("GOLDENPATH_QUEUE", "team-a")
    done = CliRunner().invoke(app, ["compile", "train-to-serve", "-f", str(file), "--to", "argo", *changes])
    assert bool(queued(done.stdout)) is labelled
    assert ("team-b" in done.stdout) is ("training.queue=team-b" in changes)


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--to", "kpf"], {}, "Did you mean 'kfp'?"),
        (["--to", "argo"], {"GOLDENPATH_IMAGE": "team/image:latest"}, "'team/image:latest' is not pinned"),
        (["--to", "argo", "--set", "training.queue=default"], {}, "default"),
        (["--to", "argo", "-o", "no/such/folder/argo.yaml"], {}, "cannot be written: No such file"),
    ],
)
def test_what_cannot_be_compiled_is_told(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    variables: dict[str, str],
    message: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(app, ["compile", "train-to-serve", "-f", str(file), *arguments])
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)
