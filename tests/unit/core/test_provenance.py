from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from goldenpath.errors import InputError
from goldenpath.provenance import (
    canonical_json,
    check_run,
    check_step,
    code_identity,
    digest_of,
    identity_of,
    image_identity,
    new_run,
    step_key,
)

KEY = {
    "component": "data.snapshot",
    "schema": 1,
    "inputs": {"source": "a"},
    "code": "d",
    "image": "i",
}


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q")
    (tmp_path / "train.py").write_text("print(1)\n")
    _git(tmp_path, "add", "train.py")
    _git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_canonical_json_orders_keys_and_has_no_white_space() -> None:
    assert canonical_json({"b": [1, 2.50, "é"], "a": None}) == '{"a":null,"b":[1,2.5,"é"]}'.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**60, object()])
def test_what_json_cannot_carry_exactly_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="canonical JSON"):
        canonical_json({"x": value})


@given(st.dictionaries(st.text(max_size=5), st.integers(-1000, 1000), max_size=5))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert digest_of(value) == digest_of(dict(reversed(list(value.items()))))


class _Job(BaseModel):
    outside_identity: ClassVar[frozenset[str]] = frozenset({"queue"})
    entry_point: str
    queue: str = ""


def test_the_identity_leaves_out_what_decides_no_result_wherever_it_stands() -> None:
    jobs = [_Job(entry_point="train.py", queue=queue) for queue in ("a", "b")]
    first, second = ({"jobs": [job], "path": Path("x")} for job in jobs)
    assert identity_of(first) == identity_of(second) == {"jobs": [{"entry_point": "train.py"}], "path": "x"}


@pytest.mark.parametrize("part", sorted(KEY))
def test_every_part_changes_the_step_key(part: str) -> None:
    assert step_key(**KEY) != step_key(**{**KEY, part: 2 if part == "schema" else {"other": "x"}})  # type: ignore[arg-type]


def test_code_is_clean_then_dirty_by_edit_and_by_a_new_file(repository: Path) -> None:
    clean = code_identity(repository)
    assert len(clean.commit) == 40
    assert clean.dirty == ""
    (repository / "new.py").write_text("x")
    added = code_identity(repository)
    (repository / "new.py").write_text("y")
    changed = code_identity(repository)
    assert len({clean.digest, added.digest, changed.digest}) == 3


def test_code_never_holds_the_credentials_of_a_remote(repository: Path) -> None:
    _git(repository, "remote", "add", "origin", "https://ada:token@git.example.com/team/repo.git")
    assert code_identity(repository).repository == "https://git.example.com/team/repo.git"


def test_code_outside_a_repository_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert code_identity(tmp_path).digest == ""


def test_an_image_is_its_registry_digest_or_that_of_this_python() -> None:
    assert image_identity("registry.example.com/steps@sha256:abc") == "sha256:abc"
    assert image_identity("registry.example.com/steps:1.0") == image_identity()
    assert image_identity().startswith("sha256:")


@pytest.mark.parametrize("run", ["", "A", "a b", "a/b", "a" * 41])
def test_a_malformed_run_is_refused(run: str) -> None:
    with pytest.raises(InputError, match="not a run's name"):
        check_run(run)


@pytest.mark.parametrize("step", ["", "-a", "a-", "a/b", "a" * 64])
def test_a_malformed_step_is_refused(step: str) -> None:
    with pytest.raises(InputError, match="not a step's name"):
        check_step(step)


def test_a_new_run_has_a_valid_name() -> None:
    assert check_run(new_run()) != new_run()
