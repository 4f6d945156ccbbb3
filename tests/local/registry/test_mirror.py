"""MLflow's copy of the registry: a real server over HTTP, and SQLite without one."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mlflow import MlflowClient

from goldenpath import refs, registry
from goldenpath.errors import StaleChampion, Temporary
from goldenpath.provenance import Code
from goldenpath.registry import Evidence, Registered
from goldenpath.store import Store, put_document
from goldenpath.testing.services import free_ports

pytestmark = pytest.mark.local

_fresh = itertools.count()


@pytest.fixture
def name() -> str:
    """A model's name of this test's own: the server is shared."""
    return f"digits-{next(_fresh)}"


@pytest.fixture(params=["http", "sqlite"])
def tracking(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "http":
        url: str = request.getfixturevalue("mlflow_url")
        return url
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def aliases_in(client: MlflowClient, name: str) -> dict[str, str]:
    # Numbers come as text over HTTP, and as integers from a database.
    return {alias: str(number) for alias, number in client.get_registered_model(name).aliases.items()}


Prepared = tuple[str, Evidence]


@pytest.fixture
def prepared(file_store: Store, name: str, tmp_path: Path) -> Callable[..., Prepared]:
    """Publishes a model and gathers passing evidence."""

    def make(content: str = "weights") -> Prepared:
        folder = tmp_path / content
        folder.mkdir(exist_ok=True)
        (folder / "model.bin").write_text(content)
        model = registry.publish(folder, name, store=file_store)
        evaluation = put_document(file_store, {"model": model})
        gate = put_document(file_store, {"verdict": "passed", "candidate": evaluation})
        return model, Evidence(
            evaluation=evaluation,
            gate=gate,
            override="",
            run="run-1",
            code=Code(commit="c" * 40),
            image="sha256:" + "e" * 64,
            config_digest="f" * 64,
        )

    return make


def test_a_version_carries_its_origins_and_a_retry_makes_no_second(
    file_store: Store, name: str, tracking: str, prepared: Callable[..., Prepared]
) -> None:
    model, evidence = prepared()
    done = registry.register(model, name, evidence=evidence, store=file_store, tracking=tracking)
    again = registry.register(model, name, evidence=evidence, store=file_store, tracking=tracking)
    assert again == done == Registered(model=done.model, version=1, tracking=f"models:/{name}/1")
    (version,) = MlflowClient(tracking, tracking).search_model_versions(f"name = '{name}'")
    digest = refs.parse(model).digest
    assert version.tags == {
        "goldenpath.ref": done.model,
        "goldenpath.digest": f"sha256:{digest}",
        "goldenpath.run": "run-1",
        "goldenpath.evaluation": evidence.evaluation,
        "goldenpath.gate": evidence.gate,
        "goldenpath.verdict": "passed",
        "goldenpath.code.commit": "c" * 40,
        "goldenpath.image": evidence.image,
        "goldenpath.config_digest": evidence.config_digest,
    }
    path = f"models/{name}/sha256-{digest}"
    assert version.source == (
        f"{file_store.url}/{path}" if tracking.startswith("sqlite") else f"goldenpath:///{path}"
    )


def test_registrations_at_once_leave_one_version_a_digest(
    file_store: Store, name: str, mlflow_url: str, prepared: Callable[..., Prepared]
) -> None:
    asked = [prepared(content) for content in ("a", "b") for _ in range(3)]

    def register(one: Prepared) -> Registered:
        return registry.register(one[0], name, evidence=one[1], store=file_store, tracking=mlflow_url)

    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(register, asked))
    assert {one.version for one in done} == {1, 2}
    versions = MlflowClient(mlflow_url, mlflow_url).search_model_versions(f"name = '{name}'")
    assert sorted(version.tags["goldenpath.ref"] for version in versions) == sorted({d.model for d in done})


def test_aliases_follow_the_store_and_those_of_others_stay(
    file_store: Store, name: str, tracking: str, prepared: Callable[..., Prepared]
) -> None:
    client = MlflowClient(tracking, tracking)
    one, two = (
        registry.register(model, name, evidence=evidence, store=file_store, tracking=tracking).model
        for model, evidence in (prepared("a"), prepared("b"))
    )
    client.set_registered_model_alias(name, "favourite", "1")

    def move(moves: dict[str, str], expected: str) -> None:
        registry.move_alias(name, moves, expected_champion=expected, store=file_store, tracking=tracking)

    move({"champion": one, "challenger": two}, "")
    assert aliases_in(client, name) == {"favourite": "1", "champion": "1", "challenger": "2"}
    move({"champion": two}, one)
    assert aliases_in(client, name) == {"favourite": "1", "previous": "1", "champion": "2"}


def test_eight_promoters_leave_one_champion_in_both_places(
    file_store: Store, name: str, mlflow_url: str, prepared: Callable[..., Prepared]
) -> None:
    models = [
        registry.register(model, name, evidence=evidence, store=file_store, tracking="").model
        for model, evidence in (prepared(str(n)) for n in range(8))
    ]

    def promote(model: str) -> str:
        try:
            registry.move_alias(
                name, {"champion": model}, expected_champion="", store=file_store, tracking=mlflow_url
            )
        except StaleChampion:
            return ""
        return model

    with ThreadPoolExecutor(8) as pool:
        (won,) = filter(None, pool.map(promote, models))
    client = MlflowClient(mlflow_url, mlflow_url)
    assert client.get_model_version_by_alias(name, "champion").tags["goldenpath.ref"] == won
    assert registry.aliases(name, store=file_store).refs == {"champion": won}
    assert len(list(registry.alias_history(name, store=file_store))) == 1


def test_with_mlflow_down_the_commit_stands_and_the_retry_completes_the_copy(
    file_store: Store, name: str, mlflow_url: str, prepared: Callable[..., Prepared]
) -> None:
    model, evidence = prepared()
    down = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(Temporary, match="does not answer") as caught:
        registry.register(model, name, evidence=evidence, store=file_store, tracking=down)
    assert caught.value.exit_code == 75
    (committed,) = registry.versions(name, store=file_store)
    done = registry.register(model, name, evidence=evidence, store=file_store, tracking=mlflow_url)
    assert done.model == committed.ref(file_store.url)
    assert done.tracking == f"models:/{name}/1"
    with pytest.raises(Temporary):
        registry.move_alias(
            name, {"champion": done.model}, expected_champion="", store=file_store, tracking=down
        )
    registry.move_alias(
        name, {"champion": done.model}, expected_champion="", store=file_store, tracking=mlflow_url
    )
    assert aliases_in(MlflowClient(mlflow_url, mlflow_url), name) == {"champion": "1"}
    assert registry.aliases(name, store=file_store).epoch == 1


def test_killed_between_the_commit_and_the_copy_it_is_completed_by_the_retry(
    file_store: Store, name: str, mlflow_url: str, prepared: Callable[..., Prepared]
) -> None:
    model, evidence = prepared()
    program = (
        "import os, sys\n"
        "from goldenpath import registry\n"
        "from goldenpath.provenance import Code\n"
        "from goldenpath.registry import registration\n"
        "from goldenpath.store import open_store\n"
        "registration.Mirror = lambda tracking: os.kill(os.getpid(), 9)\n"
        "model, name, evaluation, gate, store, tracking = sys.argv[1:]\n"
        "evidence = registry.Evidence(evaluation=evaluation, gate=gate, override='', run='run-1',\n"
        "    code=Code(), image='', config_digest='')\n"
        "registry.register(model, name, evidence=evidence, store=open_store(store), tracking=tracking)\n"
    )
    arguments = (model, name, evidence.evaluation, evidence.gate, file_store.url, mlflow_url)
    killed = subprocess.run([sys.executable, "-c", program, *arguments], check=False)
    assert killed.returncode == -9
    client = MlflowClient(mlflow_url, mlflow_url)
    assert client.search_model_versions(f"name = '{name}'") == []
    done = registry.register(model, name, evidence=evidence, store=file_store, tracking=mlflow_url)
    assert done.version == 1
    assert len(client.search_model_versions(f"name = '{name}'")) == 1


def test_a_lost_database_is_filled_again_from_the_store(
    file_store: Store, name: str, tmp_path: Path, prepared: Callable[..., Prepared]
) -> None:
    models = [
        registry.register(model, name, evidence=evidence, store=file_store, tracking="").model
        for model, evidence in (prepared(content) for content in "abc")
    ]
    registry.move_alias(name, {"champion": models[1]}, expected_champion="", store=file_store, tracking="")
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}"
    assert registry.mirror_versions(name, store=file_store, tracking=fresh) == 3
    registry.mirror_aliases(name, store=file_store, tracking=fresh)
    client = MlflowClient(fresh, fresh)
    found = {
        int(v.version): v.tags["goldenpath.ref"] for v in client.search_model_versions(f"name = '{name}'")
    }
    assert found == {1: models[0], 2: models[1], 3: models[2]}
    assert aliases_in(client, name) == {"champion": "2"}
