from __future__ import annotations

from pathlib import Path

import pytest

from goldenpath import settings
from goldenpath.errors import ConfigError


def test_the_default_store_and_tracking_are_inside_the_project(tmp_path: Path) -> None:
    found = settings.load(start=tmp_path, environ={})
    assert found.store == (tmp_path / ".goldenpath" / "store").as_uri()
    assert found.tracking == f"sqlite:///{tmp_path}/.goldenpath/mlflow.db"
    assert set(found.sources.values()) == {"default"}


def test_the_environment_beats_the_file_and_the_file_beats_the_default(tmp_path: Path) -> None:
    (tmp_path / "goldenpath.toml").write_text('store = "s3://from-file"\nteam = "vision"\n')
    found = settings.load(start=tmp_path, environ={"GOLDENPATH_STORE": "s3://from-environment/"})
    assert (found.store, found.sources["store"]) == ("s3://from-environment", "GOLDENPATH_STORE")
    assert (found.team, found.sources["team"]) == ("vision", str(tmp_path / "goldenpath.toml"))


def test_the_root_is_the_nearest_folder_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "goldenpath.toml").write_text("")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert settings.load(start=below, environ={}).root == tmp_path


def test_tracking_has_mlflows_own_variable(tmp_path: Path) -> None:
    found = settings.load(start=tmp_path, environ={"MLFLOW_TRACKING_URI": "http://mlflow:5000"})
    assert found.tracking == "http://mlflow:5000"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('stor = "s3://x"', "Did you mean 'store'?"),
        ('wholly_other = "x"', "Known keys: store, tracking"),
        ("store = 3", "store must be a text, not 3"),
        ("store = ", "cannot be read"),
        ('store = "ftp://x"', "no known scheme"),
    ],
)
def test_a_wrong_file_is_told_by_key_and_value(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "goldenpath.toml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        settings.load(start=tmp_path, environ={})
    assert message in str(caught.value)


def test_a_store_with_credentials_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="carries credentials") as caught:
        settings.load(start=tmp_path, environ={"GOLDENPATH_STORE": "s3://key:hunter2@bucket/x"})
    assert "hunter2" not in str(caught.value)
