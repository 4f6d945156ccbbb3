"""The data engine on a real S3 server."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
import pytest

from goldenpath import data
from goldenpath.components.data.snapshot import snapshot
from goldenpath.data import Lineage, SnapshotOptions, SnapshotResult
from goldenpath.errors import DataDamaged, InputError, NotFound
from goldenpath.provenance import Code
from goldenpath.refs import parse
from goldenpath.store import Store, open_store

pytestmark = pytest.mark.local

WRITERS = 4


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for number in range(300):
        path = root / f"{number % 3}" / f"{number} ü.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}")
    (root / "big").write_bytes(os.urandom(20 * 2**20))
    (root / "empty").touch()
    return root


def take(source: Path | str, store: Store, run: str = "") -> SnapshotResult:
    lineage = Lineage(run=run, step="s" if run else "", code=Code())
    return data.snapshot(str(source), "digits", store=store, options=SnapshotOptions(), lineage=lineage)


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_version_goes_up_and_comes_back(source: Path, s3_store: Store, tmp_path: Path) -> None:
    taken = take(source, s3_store)
    assert not take(source, s3_store).changed
    data.restore(taken.ref, tmp_path / "dest", store=s3_store)
    assert content(tmp_path / "dest") == content(source)
    assert data.verify(taken.ref, store=s3_store, deep=True).ok


def test_an_object_prefix_is_streamed_from_one_store_to_another(
    source: Path, s3_store: Store, file_store: Store, tmp_path: Path
) -> None:
    prefix = open_store(f"{s3_store.url}/raw")
    for path, file in content(source).items():
        prefix.put(path, file)
    taken = take(prefix.url, file_store)
    data.restore(taken.ref, tmp_path / "dest", store=file_store)
    assert content(tmp_path / "dest") == content(source)
    assert not take(prefix.url, file_store).changed
    with pytest.raises(NotFound, match="no object below"):
        take(f"{s3_store.url}/nothing", file_store)


def test_a_prefix_that_no_folder_can_hold_is_refused(s3_store: Store, file_store: Store) -> None:
    memory = open_store(f"memory://{os.urandom(4).hex()}")
    obstore.put(memory.backend, "a", b"1")
    obstore.put(memory.backend, "a/b", b"2")
    with pytest.raises(InputError, match="no folder can hold both"):
        take(memory.url, file_store)


def test_writers_of_one_dataset_all_land(s3_store: Store, tmp_path: Path) -> None:
    start = threading.Barrier(WRITERS)

    def write(number: int) -> str:
        (tmp_path / f"{number}").write_text(f"writer {number}")
        start.wait()
        return take(tmp_path / f"{number}", s3_store, run=f"run-{number}").ref

    with ThreadPoolExecutor(WRITERS) as pool:
        refs = list(pool.map(write, range(WRITERS)))
    assert sorted(parse(ref).number or 0 for ref in refs) == list(range(1, WRITERS + 1))


def test_damage_in_the_bucket_is_found_on_read(source: Path, s3_store: Store, tmp_path: Path) -> None:
    ref = take(source, s3_store).ref
    largest = max(s3_store.list("objects"), key=lambda entry: entry.size)
    good = s3_store.get(largest.key)
    s3_store.put(largest.key, good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(DataDamaged, match="'big'"):
        data.restore(ref, tmp_path / "dest", store=s3_store)
    assert not (tmp_path / "dest").exists()
    s3_store.put(largest.key, good[: len(good) // 2])
    with pytest.raises(DataDamaged):
        data.restore(ref, tmp_path / "dest", store=s3_store)
    small = min(
        (e for e in s3_store.list("objects") if s3_store.get(e.key)[:2] != b"\x1f\x8b"), key=lambda e: e.size
    )
    s3_store.put(small.key, s3_store.get(small.key)[:100])
    with pytest.raises(DataDamaged, match=r"ends early|damaged"):
        data.restore(ref, tmp_path / "dest", store=s3_store, paths=["0"])
    assert data.verify(ref, store=s3_store).ok is False


def test_the_component_snapshots_into_the_runs_store(
    source: Path, s3_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDENPATH_STORE", s3_store_url)
    monkeypatch.setenv("GOLDENPATH_RUN", "run-1")
    first = snapshot(source=str(source), name="digits")
    assert snapshot(source=str(source), name="digits") == first
    (version,) = data.history("digits", store=open_store(s3_store_url))
    assert (version.run, version.step) == ("run-1", "snapshot")
