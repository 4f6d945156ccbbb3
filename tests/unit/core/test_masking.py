from __future__ import annotations

import pytest

from goldenpath import progress
from goldenpath.errors import ConfigError, GoldenPathError, Temporary, recorded
from goldenpath.journal import Journal
from goldenpath.masking import masked, without_user
from goldenpath.settings import Settings, load
from goldenpath.steps import RunContext
from goldenpath.store import Store

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://ada:pw@host/db", "postgresql://***@host/db"),
        ("postgresql+psycopg://ada:p@w@host:5432/db", "postgresql+psycopg://***@host:5432/db"),
        (
            "API request to https://token@mlflow/api failed: gone",
            "API request to https://***@mlflow/api failed: gone",
        ),
        ("mysql://host/db?user=ada&password=pw&ssl=1", "mysql://host/db?user=ada&password=***&ssl=1"),
        ("https://s3/x?X-Amz-Signature=abc&X-Amz-Date=1", "https://s3/x?X-Amz-Signature=***&X-Amz-Date=1"),
    ],
)
def test_credentials_of_a_url_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"s3://lake/models/digits:3@{DIGEST}",
        "models:/digits@champion",
        f"file:///home/a@b/models/digits@{DIGEST}",
        "sqlite:////home/a@b/mlflow.db",
        "http://host:5000/?page=2 asked by ada@example.org",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert masked(text) == text


def test_a_repository_is_told_without_its_token() -> None:
    assert without_user("https://user:token@git.example.com/a.git") == "https://git.example.com/a.git"


def test_no_error_and_no_note_shows_a_password(notes: list[str]) -> None:
    error = Temporary("MLflow at http://ada:pw@host does not answer", next_step="Start http://ada:pw@host.")
    progress.note("Metrics do not reach http://ada:pw@host.")
    assert str(error) == "MLflow at http://***@host does not answer. Start http://***@host."
    assert "pw" not in repr(error)
    assert notes == ["Metrics do not reach http://***@host."]


def test_the_records_of_a_run_do_not_hold_the_tracking_uri(memory_store: Store) -> None:
    settings: Settings = load(
        environ={
            "GOLDENPATH_STORE": memory_store.url,
            "MLFLOW_TRACKING_URI": "postgresql://ada:hunter2@host/db",
        }
    )
    RunContext(run="run-1", settings=settings).begin()
    for entry in memory_store.list(""):
        assert b"hunter2" not in memory_store.get(entry.key)
    assert Journal(memory_store).run("run-1") is not None


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("ConfigError", 2, ConfigError),
        ("PromoterAtWork", 75, Temporary),
        ("FromAnotherVersion", 99, GoldenPathError),
    ],
)
def test_a_recorded_error_keeps_its_exit_code(name: str, code: int, expected: type[GoldenPathError]) -> None:
    assert type(recorded(name, code, "What.")) is expected
