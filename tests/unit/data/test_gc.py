from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import GRACE, SnapshotResult
from goldenpath.data.rows import PACKED_BELOW
from goldenpath.errors import DataDamaged, InputError, Temporary
from goldenpath.provenance import sha256_hex
from goldenpath.refs import Kind
from goldenpath.store import Store, keys, put_document

Take = Callable[..., SnapshotResult]
MakeOld = Callable[[], None]


@pytest.fixture
def make_old(tmp_path: Path) -> Callable[[], None]:
    """Makes all that is in the store now older than the grace period."""

    def call() -> None:
        then = time.time() - GRACE.total_seconds() - 60
        for path in (tmp_path / "store").rglob("*"):
            os.utime(path, (then, then))

    return call


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()
    (root / "a").write_text("a")
    (root / "big").write_bytes(bytes(PACKED_BELOW))
    return root


def put_object(store: Store, content: bytes) -> str:
    key = keys.object_(sha256_hex(content))
    store.put(key, content)
    return key


def test_what_no_record_refers_to_is_deleted_after_the_grace_period(
    source: Path, take: Take, store: Store, make_old: MakeOld
) -> None:
    take(source)
    (source / "a").write_text("second")
    ref = take(source).ref
    garbage = put_object(store, b"left by a killed snapshot")
    fresh = data.gc(store=store, delete=True)
    assert (fresh.objects, fresh.young) == (0, sum(1 for e in store.list() if e.key[:4] in ("obje", "mani")))
    make_old()
    dry = data.gc(store=store)
    assert (dry.objects, dry.bytes, dry.deleted, dry.young) == (1, 25, False, 0)
    assert store.head(garbage) is not None
    assert data.gc(store=store, delete=True).objects == 1
    assert store.head(garbage) is None
    assert list(store.list(keys.GC_PLANS)) == []
    for version in ("digits:1", ref):
        assert data.verify(version, store=store, deep=True).ok


def test_documents_and_objects_of_other_records_are_kept(store: Store, make_old: MakeOld) -> None:
    rows = put_object(store, b"rows of an evaluation")
    document = put_document(store, {"rows": store.uri(rows)})
    store.put("runs/r/steps/evaluate/result.json", json.dumps({"outputs": {"evaluation": document}}).encode())
    unused = put_document(store, {"nobody": "refers to this"})
    make_old()
    assert data.gc(store=store, delete=True).objects == 1
    assert store.get_or_none(unused.removeprefix(store.url + "/")) is None
    assert store.head(rows) is not None
    assert store.get_or_none(document.removeprefix(store.url + "/")) is not None


@pytest.mark.parametrize("kind", ["manifests", "objects"])
def test_nothing_is_deleted_while_a_version_cannot_be_read(
    kind: str, source: Path, take: Take, store: Store, make_old: MakeOld
) -> None:
    take(source)
    garbage = put_object(store, b"garbage")
    broken = [
        entry.key
        for entry in store.list(kind)
        if kind == "manifests" or store.get(entry.key).startswith(b"\x1f\x8b")
    ]
    for key in broken:
        good = store.get(key)
        store.delete(key) if kind == "manifests" else store.put(key, good[:-9])
        make_old()
        with pytest.raises(DataDamaged):
            data.gc(store=store, delete=True)
        assert store.head(garbage) is not None
        store.put(key, good)
    assert len(broken) == 2


def test_a_grace_period_shorter_than_a_snapshot_may_last_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="at least 3 days"):
        data.gc(store=store, grace=timedelta(hours=1))


def test_an_object_that_a_writer_made_young_meanwhile_is_kept(
    store: Store, make_old: MakeOld, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage = put_object(store, b"abandoned, then wanted again")
    real = Store.create

    def create(self: Store, key: str, content: bytes) -> bool:
        done = real(self, key, content)
        if key.startswith(keys.GC_PLANS):
            put_object(self, b"abandoned, then wanted again")  # a writer, after the plan
        return done

    make_old()
    monkeypatch.setattr(Store, "create", create)
    assert data.gc(store=store, delete=True).objects == 1
    assert store.head(garbage) is not None


def test_a_snapshot_that_needs_what_is_being_deleted_does_not_commit(
    source: Path, take: Take, store: Store
) -> None:
    wanted = keys.object_(sha256_hex(bytes(PACKED_BELOW)))
    until = datetime.now(UTC) + timedelta(hours=1)
    plan = {"until": until.isoformat(), "keys": [wanted]}
    store.put(keys.gc_plan("0badf00d"), json.dumps(plan).encode())
    with pytest.raises(Temporary, match="garbage collection"):
        take(source)
    assert list(store.list("refs")) == []
    plan["until"] = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    store.put(keys.gc_plan("0badf00d"), json.dumps(plan).encode())
    assert take(source).changed


def test_collections_run_one_at_a_time_and_a_dead_one_is_no_hindrance(
    store: Store, make_old: MakeOld, tmp_path: Path
) -> None:
    put_object(store, b"garbage")
    make_old()
    plan = {"until": (datetime.now(UTC) + timedelta(hours=1)).isoformat(), "keys": []}
    store.put(keys.gc_plan("0badf00d"), json.dumps(plan).encode())
    with pytest.raises(Temporary, match="Another collection"):
        data.gc(store=store, delete=True)
    os.utime(tmp_path / "store" / keys.gc_plan("0badf00d"), (1, 1))
    assert data.gc(store=store, delete=True).objects == 1
    assert list(store.list(keys.GC_PLANS)) == []


def test_an_old_object_is_written_again_before_a_version_relies_on_it(
    source: Path, take: Take, store: Store, tmp_path: Path
) -> None:
    wanted = keys.object_(sha256_hex(bytes(PACKED_BELOW)))
    put_object(store, bytes(PACKED_BELOW))
    path = tmp_path / "store" / wanted
    os.utime(path, (1, 1))
    take(source)
    assert path.stat().st_mtime > 1
    old = path.stat().st_mtime_ns
    (source / "more").write_text("more")
    take(source, name="another")
    assert path.stat().st_mtime_ns == old  # fresh: relied on as it is


def test_a_snapshot_that_lasted_too_long_does_not_commit(
    source: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldenpath.data.objects._LONGEST_S", -1)
    with pytest.raises(Temporary, match="lasted longer"):
        take(source)
    assert list(store.list("refs")) == []


@pytest.mark.parametrize("round_", range(6))
def test_a_collection_beside_a_writer_that_needs_old_objects_loses_nothing(
    round_: int, source: Path, take: Take, store: Store, make_old: MakeOld
) -> None:
    # What an abandoned snapshot of the same content left: all of it garbage, all of it wanted.
    take(source, name="abandoned")
    store.delete(keys.ref(Kind.DATASETS, "abandoned", 1))
    make_old()
    start = threading.Barrier(2)

    def collect() -> None:
        start.wait()
        data.gc(store=store, delete=True)

    def write() -> str:
        start.wait()
        time.sleep(0.004 * round_)
        for _ in range(20):
            try:
                return take(source).ref
            except Temporary:
                time.sleep(0.05)  # as the component does: the collection is over in a moment
        pytest.fail("the snapshot never came through")

    with ThreadPoolExecutor(2) as pool:
        collection = pool.submit(collect)
        ref = pool.submit(write).result()
        collection.result()
    assert data.verify(ref, store=store, deep=True).ok
