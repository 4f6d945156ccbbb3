"""Fixtures that every tier shares. Real services start once a session and stop with it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goldenpath import progress
from goldenpath.settings import NAMES, variable
from goldenpath.store import Store, open_store
from goldenpath.testing.services import S3Service, mlflow_server, seaweedfs

_fresh = itertools.count()


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the developer's shell reaches a test; each runs in an empty folder of its own."""
    for name in NAMES:
        monkeypatch.delenv(variable(name), raising=False)
    for name in ("GOLDENPATH_RUN", "GOLDENPATH_STEP"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.fixture
def memory_store() -> Store:
    """An empty store in memory."""
    return open_store(f"memory://test-{next(_fresh)}")


@pytest.fixture
def file_store(tmp_path: Path) -> Store:
    """An empty store in a folder."""
    return open_store((tmp_path / "store").as_uri())


@pytest.fixture(scope="session")
def _seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as service:
        yield service


@pytest.fixture
def s3(_seaweedfs: S3Service, monkeypatch: pytest.MonkeyPatch) -> S3Service:
    """A real S3 server, its credentials in the environment."""
    for name, value in _seaweedfs.environment.items():
        monkeypatch.setenv(name, value)
    return _seaweedfs


@pytest.fixture
def s3_store_url(s3: S3Service) -> str:
    """The URL of a fresh prefix on a real S3 server."""
    return s3.url(f"test-{next(_fresh)}")


@pytest.fixture
def s3_store(s3_store_url: str) -> Store:
    """A store at a fresh prefix on a real S3 server."""
    return open_store(s3_store_url)


@pytest.fixture(scope="session")
def mlflow_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MLflow server, shared: use names of your own in it."""
    with mlflow_server(tmp_path_factory.mktemp("mlflow")) as url:
        yield url


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Compares a text with a committed file; with GOLDENPATH_GOLDEN=write it makes the file anew."""

    def compare(file: Path, text: str) -> None:
        if os.environ.get("GOLDENPATH_GOLDEN") == "write":
            assert not os.environ.get("CI"), "CI compares golden files, it never writes them"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.read_text(encoding="utf-8") == text, "run make golden"

    return compare


class Notes(list[str]):
    """The lines that library code told."""


@pytest.fixture
def notes() -> Iterator[Notes]:
    """Collects ``progress.note`` lines."""
    found = Notes()

    class Collector(progress.LogReporter):
        def note(self, text: str) -> None:
            found.append(text)

    with progress.reported_by(Collector()):
        yield found
