"""Fetching and verifying: complete or absent, and nothing outside the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from goldenpath import refs, registry
from goldenpath.errors import DataDamaged, InputError, NotFound, RefError, Temporary
from goldenpath.provenance import canonical_json, digest_of
from goldenpath.store import Store, keys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "sub").mkdir(parents=True)
    (made / "a.bin").write_bytes(b"a" * 100)
    (made / "sub" / "b.bin").write_bytes(b"b" * 100)
    return made


def _plant(store: Store, files: list[dict[str, Any]], *, digest: str = "") -> str:
    """Writes a manifest as an attacker with the store's credentials would."""
    digest = digest or digest_of(sorted(files, key=lambda file: file["path"]))
    manifest = {"schema": 1, "name": "evil", "digest": digest, "files": files, "metadata": {}}
    store.put(keys.model_files("evil", digest) + "manifest.json", canonical_json(manifest))
    return f"models/evil@sha256:{digest}"


def test_a_fetched_model_is_the_published_one(file_store: Store, folder: Path, tmp_path: Path) -> None:
    ref = registry.publish(folder, "digits", store=file_store)
    got = registry.fetch(ref, tmp_path / "deep" / "got", store=file_store)
    assert got == tmp_path / "deep" / "got"
    assert {p.relative_to(got).as_posix() for p in got.rglob("*") if p.is_file()} == {"a.bin", "sub/b.bin"}
    assert (got / "sub" / "b.bin").read_bytes() == b"b" * 100


def test_a_folder_that_holds_the_model_is_adopted_and_one_that_does_not_is_refused(
    memory_store: Store, folder: Path, tmp_path: Path
) -> None:
    ref = registry.publish(folder, "digits", store=memory_store)
    got = registry.fetch(ref, tmp_path / "got", store=memory_store)
    (got / "notes.txt").write_text("mine")
    assert registry.fetch(ref, got, store=memory_store) == got
    assert (got / "notes.txt").read_text() == "mine"
    (got / "a.bin").write_bytes(b"A" + b"a" * 99)
    with pytest.raises(DataDamaged, match=r"a\.bin is not the file of the model digits"):
        registry.fetch(ref, got, store=memory_store)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("do not touch")
    with pytest.raises(InputError, match="holds something else"):
        registry.fetch(ref, other, store=memory_store)
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "path",
    ["../evil", "/etc/evil", "a/../../evil", "./a", "a//b", "", "..", "a\\..\\b", "a\x00b", "manifest.json"],
)
def test_a_manifest_that_points_elsewhere_is_refused_before_a_byte_is_written(
    memory_store: Store, tmp_path: Path, path: str
) -> None:
    memory_store.put("evil", b"x")
    ref = _plant(memory_store, [{"path": path, "size": 1, "sha256": "0" * 64}])
    with pytest.raises(DataDamaged, match="is not sound"):
        registry.fetch(ref, tmp_path / "in" / "got", store=memory_store)
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize(
    "paths", [("a", "a"), ("a", "a/b"), ("a/b", "a/b/c/d")], ids=["twice", "folder", "deeper"]
)
def test_files_that_cannot_be_side_by_side_are_refused(memory_store: Store, paths: tuple[str, str]) -> None:
    ref = _plant(memory_store, [{"path": path, "size": 1, "sha256": "0" * 64} for path in paths])
    with pytest.raises(DataDamaged, match=r"same path|file and a folder"):
        registry.read_manifest(ref, store=memory_store)


def test_a_manifest_under_another_models_digest_is_refused(
    memory_store: Store, folder: Path, tmp_path: Path
) -> None:
    true = registry.publish(folder, "digits", store=memory_store)
    files = [{"path": "a.bin", "size": 1, "sha256": "0" * 64}]
    ref = _plant(memory_store, files, digest=refs.parse(true).digest or "")
    with pytest.raises(DataDamaged, match="not of its own folder"):
        registry.fetch(ref, tmp_path / "got", store=memory_store)


@pytest.mark.parametrize("damage", ["flip", "short", "long", "gone", "more"])
def test_damage_is_found_and_leaves_no_folder(
    file_store: Store, folder: Path, tmp_path: Path, damage: str
) -> None:
    ref = registry.publish(folder, "digits", store=file_store)
    prefix = registry.read_manifest(ref, store=file_store).prefix
    if damage == "gone":
        file_store.delete(prefix + "a.bin")
    elif damage == "more":
        file_store.put(prefix + "sub/injected.pkl", b"x")
    else:
        bytes_ = {"flip": b"b" + b"a" * 99, "short": b"a" * 99, "long": b"a" * 101}[damage]
        file_store.put(prefix + "a.bin", bytes_)
    with pytest.raises(DataDamaged, match="injected" if damage == "more" else r"a\.bin"):
        registry.verify(ref, store=file_store)
    if damage not in ("more", "long"):
        with pytest.raises(DataDamaged, match=r"a\.bin"):
            registry.fetch(ref, tmp_path / "got", store=file_store)
        assert not (tmp_path / "got").exists()
        assert not (tmp_path / ".got.part").exists()


def test_what_is_not_published_is_not_found(memory_store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no model"):
        registry.fetch("models/none@sha256:" + "0" * 64, tmp_path / "got", store=memory_store)
    with pytest.raises(NotFound, match="no version 4"):
        registry.fetch("models/none:4", tmp_path / "got", store=memory_store)
    with pytest.raises(RefError, match="names no version"):
        registry.fetch("models/none", tmp_path / "got", store=memory_store)


def test_many_processes_fetching_into_one_folder_do_it_once(
    file_store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = registry.publish(folder, "digits", store=file_store)
    reads: list[str] = []
    get_range = Store.get_range

    def counted(self: Store, key: str, start: int, length: int) -> bytes:
        reads.append(key)
        return get_range(self, key, start, length)

    monkeypatch.setattr(Store, "get_range", counted)
    threads = [
        threading.Thread(target=registry.fetch, args=(ref, tmp_path / "got"), kwargs={"store": file_store})
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.name for path in (tmp_path / "got").rglob("*.bin")) == ["a.bin", "b.bin"]
    assert len(reads) == 2


def test_a_killed_fetch_leaves_nothing_under_the_final_name_and_the_next_one_works(
    file_store: Store, folder: Path, tmp_path: Path
) -> None:
    ref = registry.publish(folder, "digits", store=file_store)
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from goldenpath import registry\n"
        "from goldenpath.store import Store, open_store\n"
        "Store.get_range = lambda *a: os.kill(os.getpid(), 9)\n"
        "registry.fetch(sys.argv[1], Path(sys.argv[2]), store=open_store(sys.argv[3]))\n"
    )
    dest = tmp_path / "got"
    done = subprocess.run(
        [sys.executable, "-c", program, ref, str(dest), file_store.url], capture_output=True, check=False
    )
    assert done.returncode == -9
    assert not dest.exists()
    assert registry.fetch(ref, dest, store=file_store) == dest
    assert sorted(path.name for path in tmp_path.glob(".got*")) == [".got.lock"]


def test_a_full_disk_is_temporary(
    memory_store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = registry.publish(folder, "digits", store=memory_store)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(Temporary, match="is full"):
        registry.fetch(ref, tmp_path / "got", store=memory_store)
    assert not (tmp_path / ".got.part").exists()


def test_a_version_record_of_another_model_is_damage(memory_store: Store) -> None:
    record = {"schema": 1, "name": "b", "number": 1}
    memory_store.put("refs/models/a/0000000001.json", json.dumps(record).encode())
    with pytest.raises(DataDamaged, match="unreadable"):
        registry.resolve("models/a:1", store=memory_store)
