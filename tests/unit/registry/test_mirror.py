"""MLflow's copy, as far as no MLflow is needed: tags, sources and what its absence means."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest

from goldenpath.errors import ConfigError, Temporary
from goldenpath.provenance import Code
from goldenpath.registry import Version
from goldenpath.registry.mirror import Mirror, _probe, _source, tags
from goldenpath.testing.services import free_ports

VERSION = Version(
    name="digits",
    number=3,
    digest="a" * 64,
    run="run-1",
    evaluation="s3://lake/manifests/sha256/e",
    gate="s3://lake/manifests/sha256/g",
    verdict="refused",
    override="a reason",
    datasets={"train": "s3://lake/datasets/d:1"},
    queue="team-a",
    cost={"amount": 1.5, "currency": "EUR"},
    code=Code(commit="c" * 40),
    registered_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def test_the_tags_say_what_is_known_and_leave_out_the_rest() -> None:
    assert tags(VERSION, store="s3://lake") == {
        "goldenpath.ref": f"s3://lake/models/digits:3@sha256:{'a' * 64}",
        "goldenpath.digest": f"sha256:{'a' * 64}",
        "goldenpath.run": "run-1",
        "goldenpath.evaluation": "s3://lake/manifests/sha256/e",
        "goldenpath.gate": "s3://lake/manifests/sha256/g",
        "goldenpath.verdict": "refused",
        "goldenpath.override": "a reason",
        "goldenpath.code.commit": "c" * 40,
        "goldenpath.queue": "team-a",
        "goldenpath.cost": "1.5000 EUR",
        "goldenpath.dataset.train": "s3://lake/datasets/d:1",
    }


@pytest.mark.parametrize(
    ("store", "tracking", "source"),
    [
        ("s3://lake/team", "http://mlflow:5000", "s3://lake/team/models/digits/sha256-"),
        ("file:///lake", "sqlite:///mlflow.db", "file:///lake/models/digits/sha256-"),
        # A server refuses paths of a disk that is not its own.
        ("file:///lake", "http://mlflow:5000", "goldenpath:///models/digits/sha256-"),
    ],
)
def test_mlflow_gets_an_address_that_it_takes(store: str, tracking: str, source: str) -> None:
    assert _source(VERSION, store, tracking) == source + "a" * 64


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ConfigError, match=r"goldenpath\[mlflow\]"):
        Mirror("sqlite:///mlflow.db")


def test_a_server_that_is_down_is_told_at_once() -> None:
    with pytest.raises(Temporary, match="does not answer"):
        _probe(f"http://127.0.0.1:{free_ports(1)[0]}")


def test_a_database_needs_no_probe() -> None:
    _probe("sqlite:///nowhere/mlflow.db")
