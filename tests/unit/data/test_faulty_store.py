"""Snapshots, restores and collections over a store that fails: every request, in every way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import Lineage, SnapshotOptions, SnapshotResult, versions
from goldenpath.data.rows import BLOCK
from goldenpath.errors import DataDamaged, GoldenPathError, Temporary
from goldenpath.provenance import Code
from goldenpath.store import Store, keys
from goldenpath.testing.faulty_store import READS, Fault, FaultyStore

Take = Callable[..., SnapshotResult]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()
    for number in range(3):
        (root / f"{number}").write_text(f"file {number}")
    (root / "big").write_bytes(os.urandom(BLOCK + 7))
    return root


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def take_from(store: Store, source: Path) -> SnapshotResult:
    lineage = Lineage(run="r", step="s", code=Code())
    return data.snapshot(str(source), "digits", store=store, options=SnapshotOptions(), lineage=lineage)


def requests_of(act: Callable[[FaultyStore], object], store: Store) -> dict[str, int]:
    watched = FaultyStore(store)
    act(watched)
    return dict(watched.requests.counts)


@pytest.mark.parametrize("kind", ["before", "after", "lost"])
def test_whatever_request_of_a_snapshot_fails_the_next_try_makes_one_whole_version(
    kind: str, source: Path, store: Store, tmp_path: Path
) -> None:
    counts = requests_of(lambda watched: take_from(watched, source), store)
    expected = content(source)
    tried = 0
    for operation, count in counts.items():
        if kind == "lost" and operation != "create":
            continue
        for number in range(1, count + 1):
            shutil.rmtree(tmp_path / "store")
            (tmp_path / "store").mkdir()
            faulty = FaultyStore(store, [Fault(on=operation, number=number, kind=kind)])  # type: ignore[arg-type]
            try:
                take_from(faulty, source)
            except Temporary:
                committed = versions.numbers("digits", store=store)
                assert committed in ([], [1])
                for version in committed:
                    assert data.verify(f"digits:{version}", store=store, deep=True).ok
            assert len(faulty.requests.struck) == 1
            taken = take_from(store, source)
            assert ":1@" in taken.ref
            assert versions.numbers("digits", store=store) == [1]
            data.restore(taken.ref, tmp_path / "dest", store=store)
            assert content(tmp_path / "dest") == expected
            shutil.rmtree(tmp_path / "dest")
            tried += 1
    assert tried >= (1 if kind == "lost" else len(counts))


@pytest.mark.parametrize("kind", ["before", "flip", "cut", "slow"])
def test_whatever_read_of_a_restore_fails_no_wrong_byte_is_ever_visible(
    kind: str, source: Path, store: Store, tmp_path: Path
) -> None:
    ref = take_from(store, source).ref
    dest = tmp_path / "dest"
    counts = requests_of(lambda watched: data.restore(ref, dest, store=watched), store)
    shutil.rmtree(dest)
    for operation in READS:
        for number in range(1, counts.get(operation, 0) + 1):
            faulty = FaultyStore(store, [Fault(on=operation, number=number, kind=kind)])  # type: ignore[arg-type]
            if kind == "slow":
                data.restore(ref, dest, store=faulty)
                assert content(dest) == content(source)
                shutil.rmtree(dest)
            else:
                with pytest.raises(Temporary if kind == "before" else DataDamaged):
                    data.restore(ref, dest, store=faulty)
                assert not dest.exists()
            assert len(faulty.requests.struck) == 1
    data.restore(ref, dest, store=store)
    assert content(dest) == content(source)


@pytest.mark.parametrize("kind", ["before", "after"])
def test_whatever_request_of_a_collection_fails_versions_stay_whole(
    kind: str, source: Path, store: Store, tmp_path: Path
) -> None:
    ref = take_from(store, source).ref
    garbage = keys.object_("0" * 64)

    def make_garbage() -> None:
        store.put(garbage, b"garbage")
        for path in (tmp_path / "store").rglob("*"):
            os.utime(path, (1, 1))

    make_garbage()
    counts = requests_of(lambda watched: data.gc(store=watched, delete=True), store)
    assert counts["delete"] == 2  # the garbage, and the plan
    for operation, count in counts.items():
        for number in range(1, count + 1):
            make_garbage()
            faulty = FaultyStore(store, [Fault(on=operation, number=number, kind=kind)])  # type: ignore[arg-type]
            with pytest.raises(GoldenPathError):
                data.gc(store=faulty, delete=True)
            assert data.verify(ref, store=store, deep=True).ok
            for plan in list(store.list(keys.GC_PLANS)):
                os.utime(tmp_path / "store" / plan.key, (1, 1))
            assert data.gc(store=store, delete=True).objects <= 1
            assert store.head(garbage) is None


def test_the_fake_counts_and_strikes_once(store: Store) -> None:
    faulty = FaultyStore(store, [Fault(on="put", number=2, kind="after")])
    faulty.put("a", b"1")
    with pytest.raises(Temporary, match="fault was put on put"):
        faulty.put("b", b"2")
    faulty.put("c", b"3")
    assert faulty.requests.counts["put"] == 3
    assert {entry.key for entry in faulty.list()} == {"a", "b", "c"}
