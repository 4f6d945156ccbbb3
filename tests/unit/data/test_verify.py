from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import Damage, SnapshotResult
from goldenpath.data.rows import BLOCK
from goldenpath.errors import NotFound
from goldenpath.store import Store

Take = Callable[..., SnapshotResult]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()
    (root / "a").write_bytes(b"a" * 1000)
    (root / "b").write_bytes(b"b" * 1000)
    (root / "big").write_bytes(os.urandom(BLOCK + 1))
    return root


def flip(store: Store, key: str, position: int) -> None:
    good = store.get(key)
    store.put(key, good[:position] + bytes([good[position] ^ 4]) + good[position + 1 :])


def pack_key(store: Store) -> str:
    (found,) = [entry.key for entry in store.list("objects") if entry.size == 2000]
    return found


def test_a_sound_version_is_sound(source: Path, take: Take, store: Store) -> None:
    ref = take(source).ref
    shallow = data.verify("digits", store=store)
    assert (shallow.ref, shallow.ok, shallow.objects, shallow.bytes) == (ref, True, 3, 0)
    deep = data.verify(ref, store=store, deep=True)
    assert (deep.ok, deep.bytes) == (True, BLOCK + 1 + 2000)


def test_a_flipped_bit_names_the_files_that_it_is_in_and_no_others(
    source: Path, take: Take, store: Store
) -> None:
    take(source)
    (source / "new").write_text("new")
    take(source)
    take(source, name="other")
    flip(store, pack_key(store), 1500)  # the second half: b
    found = data.verify("digits:1", store=store, deep=True)
    assert not found.ok
    (damage,) = found.damaged
    assert damage.object == store.uri(pack_key(store))
    assert "sha256" in damage.fault
    assert damage.files == ("digits:2 b", "digits:1 b")
    assert data.verify("digits:1", store=store).ok  # its size is as it was: only --deep can tell


def test_a_missing_object_touches_every_file_in_it(source: Path, take: Take, store: Store) -> None:
    take(source)
    key = pack_key(store)
    store.delete(key)
    for deep in (False, True):
        assert data.verify("digits", store=store, deep=deep).damaged == (
            Damage(object=store.uri(key), fault="missing", files=("digits:1 a", "digits:1 b")),
        )


def test_a_short_object_touches_what_is_behind_its_end(source: Path, take: Take, store: Store) -> None:
    take(source)
    key = pack_key(store)
    store.put(key, store.get(key)[:1200])
    (damage,) = data.verify("digits", store=store).damaged
    assert damage == Damage(
        object=store.uri(key), fault="ends early: 1200 of 2000 bytes", files=("digits:1 b",)
    )


def test_a_damaged_manifest_touches_the_whole_version(source: Path, take: Take, store: Store) -> None:
    take(source)
    for entry in list(store.list("manifests")):
        good = store.get(entry.key)
        flip(store, entry.key, 10)
        found = data.verify("digits", store=store)
        assert not found.ok
        assert found.damaged[0].files == ("digits:1 *",)
        store.put(entry.key, good)


def test_a_version_that_is_not_there_cannot_be_verified(store: Store) -> None:
    with pytest.raises(NotFound, match="no datasets yet"):
        data.verify("digits", store=store)


def test_a_new_version_is_whole_even_if_the_one_before_is_damaged(
    source: Path, take: Take, store: Store
) -> None:
    take(source)
    for entry in list(store.list("manifests")):
        store.delete(entry.key)
    for entry in list(store.list("objects")):
        store.put(entry.key, b"")
    (source / "new").write_text("new")
    take(source)
    assert data.verify("digits:2", store=store, deep=True).ok
