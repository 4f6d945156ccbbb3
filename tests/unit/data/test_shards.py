"""Versions of many shards: cut small here, so that a hundred files make several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import SnapshotResult, manifest
from goldenpath.data.manifest import Stored
from goldenpath.store import Store, keys

Take = Callable[..., SnapshotResult]
FILES = 200


@pytest.fixture(autouse=True)
def _short_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_CUT_EVERY", 16)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for number in range(FILES):
        path = root / f"{number % 7}" / f"{number:03d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}")
    return root


def shards(ref: str, store: Store) -> set[str]:
    return {shard.sha256 for shard in data.open_version(ref, store=store)[1].manifest.shards}


@pytest.mark.parametrize("action", ["change", "add", "remove"])
def test_one_changed_file_changes_one_shard(action: str, source: Path, take: Take, store: Store) -> None:
    old = take(source).ref
    path = source / "3" / "003"
    if action == "change":
        path.write_text("changed")
    elif action == "add":
        (source / "3" / "0035").write_text("added")
    else:
        path.unlink()
    new = take(source).ref
    assert len(shards(old, store)) > 4
    # A removed last row of a shard would join two: that is one more at most.
    assert 1 <= len(shards(new, store) - shards(old, store)) <= 2
    found = data.diff(old, new, store=store)
    assert found.added + found.removed + found.changed == 1


def test_the_cut_does_not_depend_on_what_was_there_before(
    source: Path, take: Take, store: Store, tmp_path: Path
) -> None:
    (source / "0" / "extra").write_text("extra")
    take(source)
    (source / "0" / "extra").unlink()
    grown = take(source, cache_dir=tmp_path / "cache").ref
    fresh = take(source, name="fresh").ref
    assert grown.rpartition("@")[2] == fresh.rpartition("@")[2]


def test_a_heavy_shard_is_cut(
    source: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(manifest, "_CUT_EVERY", 2**31)
    monkeypatch.setattr(manifest, "_HEAVIEST_SHARD", 50)
    ref = take(source).ref
    assert len(shards(ref, store)) == FILES / 25  # a row and a chunk each
    data.restore(ref, tmp_path / "dest", store=store)


def test_restoring_a_few_files_reads_only_their_shards_and_packs(
    source: Path, take: Take, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = take(source).ref
    read: list[int] = []
    real = Stored.shard_rows
    monkeypatch.setattr(
        Stored, "shard_rows", lambda self, number: (read.append(number), real(self, number))[1]
    )
    data.restore(ref, tmp_path / "dest", store=store, paths=["3/003", "3/010"])
    assert len(read) <= 2
    assert (tmp_path / "dest" / "3" / "010").read_text() == "file 10"


def test_an_unchanged_source_reads_no_shard(
    source: Path, take: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldenpath.data.tree._SETTLED_NS", -(10**9))
    take(source, cache_dir=tmp_path / "cache")
    monkeypatch.setattr(Stored, "shard_rows", lambda *_: pytest.fail("a shard was read"))
    assert not take(source, cache_dir=tmp_path / "cache").changed


def test_shards_that_overlap_are_refused(source: Path, take: Take, store: Store, tmp_path: Path) -> None:
    from goldenpath.data import versions
    from goldenpath.errors import DataDamaged
    from goldenpath.provenance import sha256_hex

    take(source)
    version, stored = data.open_version("digits", store=store)
    for change in ("swap", "repeat"):
        parts, places = list(stored.manifest.shards), list(stored.index.shards)
        if change == "swap":
            parts[0], parts[1] = parts[1], parts[0]
        else:
            parts.insert(0, parts[0])
            places.insert(0, places[0])
        wrong = stored.manifest.model_copy(update={"shards": tuple(parts)}).encoded()
        index = stored.index.model_copy(update={"shards": tuple(places)}).encoded()
        for content in (wrong, index):
            store.put(keys.manifest(sha256_hex(content)), content)
        bad = version.model_copy(
            update={
                "name": f"bad-{change}",
                "digest": sha256_hex(wrong),
                "index": sha256_hex(index),
                "run": "",
            }
        )
        versions.commit(bad, store=store, recent=versions.recent(bad.name, store=store))
        with pytest.raises(DataDamaged):
            data.restore(f"bad-{change}", tmp_path / "dest", store=store)
        assert not (tmp_path / "dest").exists()
