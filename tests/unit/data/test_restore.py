from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import SnapshotResult, versions
from goldenpath.data.rows import BLOCK, PACKED_BELOW
from goldenpath.errors import DataDamaged, InputError, NotFound, RefError, Temporary
from goldenpath.store import Store

Take = Callable[..., SnapshotResult]


def listing(root: Path) -> dict[str, object]:
    """Everything below a folder: kinds, modes and contents."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.stat().st_mode & 0o777, path.read_bytes())
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "a" / "deep").mkdir(parents=True)
    (root / "void" / "inner").mkdir(parents=True)
    (root / "a.txt").write_text("before the folder in bytes, after it in rows")
    (root / "a" / "deep" / "x").write_text("x")
    (root / "empty").write_bytes(b"")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o750)
    (root / "two\nlines and ü e\u0301").write_text("odd name")
    (root / ("n" * 255)).write_text("long name")
    (root / "big").write_bytes(os.urandom(BLOCK + 12345))
    (root / "just-large").write_bytes(os.urandom(PACKED_BELOW))
    (root / "just-small").write_bytes(os.urandom(PACKED_BELOW - 1))
    (root / "a" / "link").symlink_to("../a.txt")
    (root / "dangling").symlink_to("nowhere")
    os.link(root / "a.txt", root / "hard")
    return root


@pytest.fixture
def ref(source: Path, take: Take) -> str:
    return take(source).ref


def test_a_version_comes_back_byte_for_byte(source: Path, ref: str, store: Store, tmp_path: Path) -> None:
    done = data.restore(ref, tmp_path / "new" / "dest", store=store)
    assert listing(tmp_path / "new" / "dest") == listing(source)
    assert (done.ref, done.files) == (ref, 10)
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "dest"]


@pytest.mark.parametrize("form", ["digits", "digits:1", "datasets/digits:1", "full"])
def test_every_form_of_a_reference_restores(
    form: str, ref: str, store: Store, tmp_path: Path, source: Path
) -> None:
    text = ref if form == "full" else form
    assert data.restore(text, tmp_path / "dest", store=store).ref == ref


def test_an_empty_folder_is_a_destination(source: Path, ref: str, store: Store, tmp_path: Path) -> None:
    (tmp_path / "dest").mkdir()
    data.restore(ref, tmp_path / "dest", store=store)
    assert listing(tmp_path / "dest") == listing(source)


def test_a_folder_with_content_is_refused_and_left_alone(ref: str, store: Store, tmp_path: Path) -> None:
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest" / "mine").write_text("keep")
    with pytest.raises(InputError, match="not empty: it holds 'mine'"):
        data.restore(ref, tmp_path / "dest", store=store)
    assert listing(tmp_path / "dest") == {"mine": (0o644, b"keep")}


def test_overwrite_replaces_files_and_leaves_others(
    source: Path, ref: str, store: Store, tmp_path: Path
) -> None:
    dest = tmp_path / "dest"
    dest.mkdir()
    (dest / "mine").write_text("keep")
    (dest / "a.txt").write_text("old")
    data.restore(ref, dest, store=store, overwrite=True)
    assert listing(dest) == {**listing(source), "mine": (0o644, b"keep")}


def test_sync_makes_the_folder_the_version(source: Path, ref: str, store: Store, tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    data.restore(ref, dest, store=store)
    (dest / "mine" / "deep").mkdir(parents=True)
    (dest / "mine" / "deep" / "x").write_text("goes")
    (dest / ".goldenpath").mkdir()
    (dest / "a.txt").write_text("other")
    (dest / "big").unlink()
    (dest / "big").mkdir()
    (dest / "big" / "file").write_text("in the way")
    (dest / "run.sh").chmod(0o600)
    (dest / "dangling").unlink()
    done = data.restore(ref, dest, store=store, sync=True)
    assert (done.kept, done.removed) == (9, 2)
    (dest / ".goldenpath").rmdir()  # never touched
    assert listing(dest) == listing(source)


def test_overwrite_does_not_write_through_a_link(ref: str, store: Store, tmp_path: Path) -> None:
    dest, outside = tmp_path / "dest", tmp_path / "outside"
    dest.mkdir()
    outside.mkdir()
    (dest / "a").symlink_to(outside)
    with pytest.raises(InputError, match="is not a folder"):
        data.restore(ref, dest, store=store, overwrite=True)
    assert list(outside.iterdir()) == []
    data.restore(ref, dest, store=store, sync=True)
    assert list(outside.iterdir()) == []
    assert (dest / "a" / "deep" / "x").read_text() == "x"


def test_overwrite_does_not_remove_a_folder_for_a_file(ref: str, store: Store, tmp_path: Path) -> None:
    (tmp_path / "dest" / "a.txt").mkdir(parents=True)
    (tmp_path / "dest" / "a.txt" / "mine").write_text("keep")
    with pytest.raises(InputError, match="is a folder"):
        data.restore(ref, tmp_path / "dest", store=store, overwrite=True)
    assert listing(tmp_path / "dest") == {"a.txt": "folder", "a.txt/mine": (0o644, b"keep")}


def test_only_the_paths_asked_for_are_restored(ref: str, store: Store, tmp_path: Path) -> None:
    done = data.restore(ref, tmp_path / "dest", store=store, paths=["a", "empty"])
    assert sorted(listing(tmp_path / "dest")) == ["a", "a/deep", "a/deep/x", "a/link", "empty"]
    assert done.files == 2


def test_a_path_that_the_version_lacks_is_named_and_nothing_is_left(
    ref: str, store: Store, tmp_path: Path
) -> None:
    with pytest.raises(NotFound, match="'nope'"):
        data.restore(ref, tmp_path / "dest", store=store, paths=["a", "nope"])
    assert not (tmp_path / "dest").exists()


@pytest.mark.parametrize("kind", ["objects", "manifests"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_any_damaged_object_is_found_and_nothing_appears(
    kind: str, damage: str, ref: str, store: Store, tmp_path: Path
) -> None:
    everything = [entry.key for entry in store.list(kind)]
    assert len(everything) == (6 if kind == "objects" else 2)
    for key in everything:
        good = store.get(key)
        if damage == "gone":
            store.delete(key)
        else:
            middle = len(good) // 2
            bad = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
            store.put(key, bad if damage == "flip" else good[:middle])
        with pytest.raises(DataDamaged, match=r"damaged|missing|ends early|is no|not gzip"):
            data.restore(ref, tmp_path / "dest", store=store)
        assert not (tmp_path / "dest").exists()
        assert not list(tmp_path.glob(".goldenpath-restore-*"))
        store.put(key, good)
    data.restore(ref, tmp_path / "dest", store=store)


def test_a_damaged_object_leaves_an_overwritten_folder_as_it_was(
    ref: str, store: Store, tmp_path: Path
) -> None:
    dest = tmp_path / "dest"
    dest.mkdir()
    (dest / "a.txt").write_text("mine")
    largest = max(store.list("objects"), key=lambda entry: entry.size)
    store.put(largest.key, b"\0" * largest.size)
    with pytest.raises(DataDamaged):
        data.restore(ref, dest, store=store, overwrite=True)
    assert listing(dest) == {"a.txt": (0o644, b"mine")}


def test_a_restore_killed_while_moving_files_in_is_finished_by_the_next(
    source: Path, ref: str, store: Store, tmp_path: Path
) -> None:
    dest = tmp_path / "dest"
    left = dest / ".goldenpath-restore-0badf00d"
    (left / "tree").mkdir(parents=True)
    (left / "moving").touch()
    (dest / "a.txt").write_text("half a move")
    data.restore(ref, dest, store=store)
    assert listing(dest) == listing(source)


def test_what_a_killed_restore_left_beside_is_removed(ref: str, store: Store, tmp_path: Path) -> None:
    left = tmp_path / ".goldenpath-restore-0badf00d"
    (left / "tree").mkdir(parents=True)
    data.restore(ref, tmp_path / "dest", store=store)
    assert not left.exists()


def test_a_file_is_no_destination(ref: str, store: Store, tmp_path: Path) -> None:
    (tmp_path / "dest").write_text("a file")
    with pytest.raises(InputError, match="not a folder"):
        data.restore(ref, tmp_path / "dest", store=store)


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [(28, Temporary, "full"), (30, InputError, "cannot be written"), (13, InputError, "cannot be written")],
)
def test_a_disk_that_fails_is_told_and_nothing_appears(
    number: int, kind: type[Exception], message: str, ref: str, store: Store, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def fails(file: int, data: object, start: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("goldenpath.data.fetch.os.pwrite", fails)
    with pytest.raises(kind, match=message):
        data.restore(ref, tmp_path / "dest", store=store)
    assert not (tmp_path / "dest").exists()
    assert not list(tmp_path.glob(".goldenpath-restore-*"))


def test_names_that_clash_on_the_disk_are_told(
    ref: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A disk blind to case: 'a.txt' is there already when 'A.TXT' is made.
    real = os.open

    def blind(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("/hard"):
            path = str(path).replace("/hard", "/a.txt")
        return real(path, flags, mode)

    monkeypatch.setattr("goldenpath.data.fetch.os.open", blind)
    with pytest.raises(InputError, match="upper from lower case"):
        data.restore(ref, tmp_path / "dest", store=store)
    assert not (tmp_path / "dest").exists()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("nothing", NotFound, "There are: digits"),
        ("digits:9", NotFound, "It has 1 to 1"),
        ("digits@sha256:" + "0" * 64, NotFound, "has the digest"),
        ("digits:1@sha256:" + "0" * 64, RefError, "not sha256:000"),
        ("models/digits:1", RefError, "reference to models"),
        ("", RefError, "empty"),
    ],
)
def test_a_reference_that_fits_nothing_is_told(
    text: str, kind: type[Exception], message: str, ref: str, store: Store, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=message):
        data.restore(text, tmp_path / "dest", store=store)


def test_a_hostile_manifest_writes_nothing(ref: str, store: Store, tmp_path: Path) -> None:
    from goldenpath.data.manifest import Index, IndexShard, Manifest, Shard, zipped
    from goldenpath.provenance import sha256_hex
    from goldenpath.store import keys

    def put(data_: bytes, key_of: Callable[[str], str]) -> str:
        store.put(key_of(sha256_hex(data_)), data_)
        return sha256_hex(data_)

    text = b'{"chunks":[],"mode":420,"path":"../escaped","size":0}\n'
    shard = Shard(first="../escaped", last="../escaped", rows=1, sha256=sha256_hex(text))
    places = put(zipped(b'{"packs":[],"pack":[],"offset":[]}'), keys.object_)
    index = Index(shards=(IndexShard(rows=put(zipped(text), keys.object_), places=places),))
    manifest = Manifest(files=1, size=0, shards=(shard,))
    version = versions.read("digits", 1, store=store).model_copy(
        update={
            "name": "evil",
            "digest": put(manifest.encoded(), keys.manifest),
            "index": put(index.encoded(), keys.manifest),
        }
    )
    versions.commit(version, store=store, recent=versions.recent("evil", store=store))
    with pytest.raises(DataDamaged, match="climbs"):
        data.restore("evil", tmp_path / "dest", store=store)
    assert not (tmp_path / "escaped").exists()
    assert not (tmp_path / "dest").exists()
