from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import SnapshotResult
from goldenpath.errors import DataDamaged, NotFound, RefError, Refused
from goldenpath.refs import Kind, parse
from goldenpath.store import Store, keys

Take = Callable[..., SnapshotResult]
WRITERS = 8


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    root.mkdir()
    (root / "a").write_text("a")
    return root


def test_every_writer_of_one_dataset_lands_under_a_number_of_its_own(
    tmp_path: Path, take: Take, store: Store
) -> None:
    start = threading.Barrier(WRITERS)

    def write(number: int) -> str:
        root = tmp_path / f"writer-{number}"
        root.mkdir()
        (root / "file").write_text(f"writer {number}")
        start.wait()
        return take(root).ref

    with ThreadPoolExecutor(WRITERS) as pool:
        refs = list(pool.map(write, range(WRITERS)))
    assert sorted(parse(ref).number or 0 for ref in refs) == list(range(1, WRITERS + 1))
    found = data.history("digits", store=store)
    assert {str(version.ref(store)) for version in found} == set(refs)
    assert [version.parents for version in found[:-1]] == [(str(v.ref(store)),) for v in found[1:]]


def test_writers_of_the_same_content_make_one_version(tmp_path: Path, take: Take, store: Store) -> None:
    (tmp_path / "same").write_text("same")
    with ThreadPoolExecutor(WRITERS) as pool:
        taken = list(pool.map(lambda _: take(tmp_path / "same"), range(WRITERS)))
    assert len({done.ref for done in taken}) == 1
    assert sum(done.changed for done in taken) == 1
    assert len(data.history("digits", store=store)) == 1


def test_a_commit_whose_reply_was_lost_is_found_again(
    source: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Store.create

    def lossy(self: Store, key: str, content: bytes) -> bool:
        done = real(self, key, content)
        return done and not key.startswith("refs/")

    monkeypatch.setattr(Store, "create", lossy)
    taken = take(source)
    assert taken.changed
    assert ":1@" in taken.ref
    assert len(data.history("digits", store=store)) == 1


def test_a_reference_is_completed_and_checked(source: Path, take: Take, store: Store) -> None:
    first = take(source).ref
    (source / "b").write_text("b")
    second = take(source).ref
    digest = first.rpartition("@")[2]
    assert str(data.resolve("digits", store=store)) == second
    assert str(data.resolve("digits:1", store=store)) == first
    assert str(data.resolve(f"digits@{digest}", store=store)) == first
    assert str(data.resolve(first, store=store)) == first
    with pytest.raises(RefError, match="The digest is the authority"):
        data.resolve(f"digits:2@{digest}", store=store)


def test_a_full_reference_opens_its_own_store(
    source: Path, take: Take, store: Store, memory_store: Store
) -> None:
    ref = take(source).ref
    assert str(data.resolve(ref, store=memory_store)) == ref
    with pytest.raises(NotFound):
        data.resolve("digits", store=memory_store)


def test_a_version_keeps_where_it_comes_from(source: Path, take: Take, store: Store) -> None:
    take(source)
    (version,) = data.history("digits", store=store)
    assert (version.run, version.step, version.code.commit) == ("run-0", "snapshot", "c0ffee")
    assert version.source == str(source)


@pytest.mark.parametrize("content", [b"{", b"{}", b'{"schema": 2}'])
def test_an_unreadable_record_is_damage(content: bytes, source: Path, take: Take, store: Store) -> None:
    take(source)
    store.put(keys.ref(Kind.DATASETS, "digits", 1), content)
    with pytest.raises(DataDamaged, match="unreadable"):
        data.resolve("digits", store=store)


def test_a_record_copied_to_another_name_is_damage(source: Path, take: Take, store: Store) -> None:
    take(source)
    record = store.get(keys.ref(Kind.DATASETS, "digits", 1))
    store.put(keys.ref(Kind.DATASETS, "letters", 1), record)
    with pytest.raises(DataDamaged, match="record of digits:1"):
        data.resolve("letters:1", store=store)


def test_a_tag_stands_for_one_version_for_ever(source: Path, take: Take, store: Store) -> None:
    first = take(source).ref
    (source / "b").write_text("b")
    take(source)
    assert data.tag("digits:1", "golden", store=store).ref == first
    assert data.tag(first, "golden", store=store).ref == first
    with pytest.raises(Refused, match="stands for"):
        data.tag("digits:2", "golden", store=store)
    assert data.tagged("digits", "golden", store=store).ref == first
    assert [tag.tag for tag in data.tags("digits", store=store)] == ["golden"]
    with pytest.raises(NotFound, match="It has: golden"):
        data.tagged("digits", "silver", store=store)
    with pytest.raises(RefError):
        data.tag("digits", "../up", store=store)


def test_a_listing_names_every_dataset(source: Path, take: Take, store: Store) -> None:
    assert data.names(store=store) == []
    take(source, name="b")
    take(source, name="a")
    assert data.names(store=store) == ["a", "b"]
