from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import SnapshotResult, versions
from goldenpath.data import prefix as prefix_module
from goldenpath.data.rows import BLOCK, PACKED_BELOW
from goldenpath.errors import InputError, NotFound, Temporary
from goldenpath.store import Store

Take = Callable[..., SnapshotResult]


@pytest.fixture
def objects(memory_store: Store) -> Store:
    memory_store.put("a/b", b"in a folder")
    memory_store.put("a-c", b"before a/ in bytes, after it in rows")
    memory_store.put("large", bytes(BLOCK + 3))
    memory_store.put("just-large", bytes(PACKED_BELOW))
    memory_store.put("empty", b"")
    memory_store.put("logs/x.log", b"log")
    return memory_store


def test_a_prefix_is_a_version_like_a_folders(
    objects: Store, take: Take, store: Store, tmp_path: Path
) -> None:
    taken = take(objects.url)
    data.restore(taken.ref, tmp_path / "dest", store=store)
    for entry in objects.list():
        assert (tmp_path / "dest" / entry.key).read_bytes() == objects.get(entry.key)
    assert take(tmp_path / "dest").ref == taken.ref  # the same content from a disk is the same version


def test_unchanged_objects_are_not_read_again(
    objects: Store, take: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(objects.url, cache_dir=tmp_path / "cache")
    monkeypatch.setattr(prefix_module.Prefix, "_read", lambda *_: pytest.fail("an object was read"))
    monkeypatch.setattr(prefix_module.Prefix, "read_block", lambda *_: pytest.fail("a block was read"))
    assert not take(objects.url, cache_dir=tmp_path / "cache").changed


def test_folders_and_patterns_are_left_out(objects: Store, take: Take, store: Store) -> None:
    objects.put("a/folder-mark", b"")
    ref = take(objects.url, options={"exclude": ("logs", "*large")}).ref
    rows = data.open_version(ref, store=store)[1].rows()
    assert [row.path for row in rows] == ["a/b", "a/folder-mark", "a-c", "empty"]


def test_a_prefix_without_objects_is_told(take: Take) -> None:
    with pytest.raises(NotFound, match="no object below"):
        take("memory://nothing-here")


def test_an_object_above_another_is_refused(objects: Store, take: Take, store: Store) -> None:
    objects.put("a", b"a file where a folder is")
    with pytest.raises(InputError, match="'a' and one below it, 'a/b'"):
        take(objects.url)
    assert versions.numbers("digits", store=store) == []


@pytest.mark.parametrize("change", ["gone", "shorter"])
@pytest.mark.parametrize("key", ["a/b", "large"])
def test_an_object_that_changes_meanwhile_fails_the_snapshot_by_name(
    change: str, key: str, objects: Store, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = prefix_module.Prefix.entries

    def entries(self: prefix_module.Prefix) -> object:
        found = list(real(self))
        objects.delete(key) if change == "gone" else objects.put(key, b"short")
        return iter(found)

    monkeypatch.setattr(prefix_module.Prefix, "entries", entries)
    with pytest.raises(Temporary, match=repr(key)):
        take(objects.url)
    assert versions.numbers("digits", store=store) == []
