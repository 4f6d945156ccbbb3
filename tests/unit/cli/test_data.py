from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldenpath.cli.data import app
from goldenpath.errors import InputError, NotFound
from goldenpath.settings import load
from goldenpath.store import open_store


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()
    (root / "a.txt").write_text("one")
    (root / "b.tmp").write_text("scratch")
    return root


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def test_a_version_is_taken_listed_restored_and_told_of(source: Path, tmp_path: Path) -> None:
    taken = json.loads(run("snapshot", source, "digits", "--exclude", "*.tmp", "--json"))
    assert (taken["files"], taken["changed"]) == (1, True)
    assert run("snapshot", source, "digits", "--exclude", "*.tmp").startswith("Unchanged: ")
    restored = json.loads(run("restore", taken["ref"], tmp_path / "dest", "--json"))
    assert (restored["ref"], restored["files"]) == (taken["ref"], 1)
    assert [version["number"] for version in json.loads(run("list", "--json"))] == [1]
    assert json.loads(run("show", "digits", "--files", "--json"))["paths"] == ["a.txt"]
    assert json.loads(run("tag", "digits:1", "golden", "--json")) == {"tag": "golden", "ref": taken["ref"]}
    assert "golden" in run("show", "digits")
    assert "golden" in run("log", "digits")
    assert json.loads(run("log", "digits", "--json"))[0]["source"] == str(source)


def test_a_diff_is_told_in_counts_and_names(source: Path) -> None:
    run("snapshot", source, "digits")
    (source / "c").write_text("new")
    run("snapshot", source, "digits")
    assert run("diff", "digits:1", "digits:2").splitlines() == ["1 added, 0 removed, 0 changed, 3 B", "+ c"]
    assert run("diff", "digits:1", "digits:1") == "Identical.\n"


def test_damage_ends_verify_with_exit_code_6(source: Path) -> None:
    run("snapshot", source, "digits")
    assert json.loads(run("verify", "digits", "--deep", "--json"))["ok"] is True
    store = open_store(load().store)
    (pack,) = [entry.key for entry in store.list("objects") if store.get(entry.key) == b"onescratch"]
    store.put(pack, b"oneScratch")
    assert json.loads(run("verify", "digits", "--json"))["ok"] is True
    found = json.loads(run("verify", "digits", "--deep", "--json", code=6))
    assert found["damaged"][0]["files"] == ["digits:1 b.tmp"]
    assert "Damaged." in run("verify", "digits", "--deep", code=6)


def test_garbage_collection_is_a_dry_run_unless_told(source: Path) -> None:
    run("snapshot", source, "digits")
    found = json.loads(run("gc", "--json"))
    assert (found["objects"], found["bytes"], found["deleted"]) == (0, 0, False)
    assert found["young"] >= 5  # a pack, two tables, the manifest and the index; and the run's own
    assert "dry run" in run("gc")
    assert json.loads(run("gc", "--delete", "--json"))["deleted"] is True
    with pytest.raises(InputError, match="at least 3 days"):
        run("gc", "--grace-days", "1")


def test_an_unknown_version_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no dataset 'digits'"):
        run("restore", "digits", tmp_path / "dest")
