from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import SnapshotResult, manifest
from goldenpath.data.filesystem import VersionFileSystem
from goldenpath.data.manifest import Stored
from goldenpath.data.rows import BLOCK
from goldenpath.errors import DataDamaged, NotFound
from goldenpath.store import Store

Take = Callable[..., SnapshotResult]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "a" / "deep").mkdir(parents=True)
    (root / "void").mkdir()
    (root / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (root / "a" / "deep" / "f").write_text("f")
    (root / "a" / "g").write_text("g")
    (root / "empty").touch()
    (root / "big").write_bytes(os.urandom(2 * BLOCK + 5))
    (root / "latest").symlink_to("a/deep")
    (root / "a" / "up").symlink_to("../a.csv")
    (root / "broken").symlink_to("nowhere")
    (root / "round").symlink_to("round")
    return root


@pytest.fixture
def files(source: Path, take: Take, store: Store) -> VersionFileSystem:
    take(source)
    return data.open("digits", store=store)


def test_every_file_reads_as_it_was(files: VersionFileSystem, source: Path) -> None:
    found = files.find("")
    assert found == ["a.csv", "a/deep/f", "a/g", "a/up", "big", "broken", "empty", "latest", "round"]
    for path in set(found) - {"broken", "latest", "round"}:
        assert files.cat_file(path) == (source / path).read_bytes()


def test_folders_are_listed_and_links_followed(files: VersionFileSystem) -> None:
    assert files.ls("a", detail=False) == ["a/deep", "a/g", "a/up"]
    assert files.info("a")["type"] == "directory"
    assert files.info("void")["type"] == "directory"
    assert files.ls("void") == []
    assert files.info("a/up")["size"] == 12
    assert files.cat_file("latest/f") == b"f"
    assert files.isdir("a/deep")
    assert not files.exists("a/nope")
    kinds = {entry["name"]: entry["type"] for entry in files.ls("")}
    assert (kinds["latest"], kinds["round"], kinds["a"]) == ("link", "link", "directory")
    assert files.glob("a/*") == ["a/deep", "a/g", "a/up"]


@pytest.mark.parametrize("path", ["nope", "a/deep/f/x", "broken", "round", "zzz"])
def test_what_is_not_there_is_not_found(path: str, files: VersionFileSystem) -> None:
    with pytest.raises(FileNotFoundError):
        files.info(path)
    with pytest.raises(FileNotFoundError):
        files.open(path)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 1), (BLOCK - 1, BLOCK + 1), (2 * BLOCK, None), (-5, None), (3, 3), (0, 10**9)]
)
def test_ranges_cross_blocks(start: int, end: int | None, files: VersionFileSystem, source: Path) -> None:
    assert files.cat_file("big", start, end) == (source / "big").read_bytes()[start:end]


def test_a_file_seeks_and_reads(files: VersionFileSystem, source: Path) -> None:
    whole = (source / "big").read_bytes()
    with files.open("big") as file:
        file.seek(BLOCK - 2)
        assert file.read(4) == whole[BLOCK - 2 : BLOCK + 2]
        file.seek(-3, os.SEEK_END)
        assert file.read() == whole[-3:]
    with files.open("a.csv", "r") as text:
        assert text.readlines() == ["x,y\n", "1,2\n", "3,4\n"]


def test_it_cannot_be_written(files: VersionFileSystem) -> None:
    with pytest.raises(OSError, match="read only"):
        files.open("a.csv", "wb")


def test_a_damaged_object_is_found_before_a_byte_is_handed_out(
    files: VersionFileSystem, store: Store
) -> None:
    for entry in list(store.list("objects")):
        good = store.get(entry.key)
        if not good.startswith(b"\x1f\x8b"):
            store.put(entry.key, good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(DataDamaged):
        files.cat_file("big", 2 * BLOCK, None)
    with pytest.raises(DataDamaged):
        files.cat_file("a.csv")


def test_it_travels_to_other_processes(files: VersionFileSystem) -> None:
    assert pickle.loads(pickle.dumps(files)).cat_file("a/g") == b"g"


def test_it_is_pinned_when_it_is_opened(
    files: VersionFileSystem, source: Path, take: Take, store: Store
) -> None:
    (source / "a" / "g").write_text("changed")
    take(source)
    assert files.cat_file("a/g") == b"g"
    assert data.open("digits", store=store).cat_file("a/g") == b"changed"
    with pytest.raises(NotFound):
        data.open("digits:9", store=store)


def test_only_the_shards_asked_for_are_read(
    tmp_path: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "_CUT_EVERY", 16)
    root = tmp_path / "many"
    root.mkdir()
    for number in range(200):
        (root / f"{number:03d}").write_text(f"{number}")
    take(root, name="many")
    read: list[int] = []
    real = Stored.shard_rows
    monkeypatch.setattr(
        Stored, "shard_rows", lambda self, number: (read.append(number), real(self, number))[1]
    )
    files = data.open("many", store=store)
    assert files.cat_file("100") == b"100"
    assert len(read) == 1


def test_pandas_reads_it_in_place(files: VersionFileSystem) -> None:
    pandas = pytest.importorskip("pandas")
    with files.open("a.csv") as file:
        assert pandas.read_csv(file).to_dict("list") == {"x": [1, 3], "y": [2, 4]}


def test_pyarrow_reads_it_in_place(tmp_path: Path, take: Take, store: Store) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    (tmp_path / "table").mkdir()
    parquet.write_table(arrow.table({"x": list(range(1000))}), tmp_path / "table" / "part-0.parquet")
    take(tmp_path / "table", name="table")
    found = parquet.read_table("part-0.parquet", filesystem=data.open("table", store=store), columns=["x"])
    assert found["x"].to_pylist() == list(range(1000))
