from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import Lineage, SnapshotOptions, SnapshotResult, versions
from goldenpath.data.rows import PACKED_BELOW
from goldenpath.data.tree import Tree
from goldenpath.errors import InputError, NotFound, RefError, Temporary
from goldenpath.provenance import Code
from goldenpath.store import Store

Take = Callable[..., SnapshotResult]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one")
    (root / "sub" / "b.bin").write_bytes(b"two")
    return root


def test_a_version_has_a_number_a_digest_and_counts(source: Path, take: Take, store: Store) -> None:
    taken = take(source)
    digest = versions.read("digits", 1, store=store).digest
    assert taken == SnapshotResult(
        ref=f"{store.url}/datasets/digits:1@sha256:{digest}", files=2, bytes=6, changed=True, parent=""
    )


def test_the_same_content_is_the_same_version(source: Path, take: Take, tmp_path: Path) -> None:
    first = take(source)
    again = take(source, cache_dir=tmp_path / "cache")
    cached = take(source, cache_dir=tmp_path / "cache")
    assert (again.ref, again.changed) == (cached.ref, cached.changed) == (first.ref, False)


def test_new_content_is_a_new_version_with_its_parent(source: Path, take: Take) -> None:
    first = take(source)
    (source / "a.txt").write_text("three")
    second = take(source)
    assert second.changed
    assert second.parent == first.ref
    assert ":2@sha256:" in second.ref


def test_the_id_depends_on_content_alone(source: Path, take: Take, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    subprocess.run(["cp", "-r", source, copy], check=True)
    os.utime(copy / "a.txt", (1, 1))
    digest = take(source, name="one").ref.rpartition("@")[2]
    assert take(copy, name="two").ref.rpartition("@")[2] == digest
    (copy / "a.txt").chmod(0o755)
    assert take(copy, name="two").ref.rpartition("@")[2] != digest


def test_content_that_came_back_is_a_new_number_with_the_old_digest(source: Path, take: Take) -> None:
    first = take(source)
    (source / "a.txt").write_text("three")
    take(source)
    (source / "a.txt").write_text("one")
    third = take(source)
    assert ":3@" in third.ref
    assert third.ref.rpartition("@")[2] == first.ref.rpartition("@")[2]


def test_a_step_run_again_finds_the_version_that_it_committed(source: Path, store: Store, take: Take) -> None:
    lineage = Lineage(run="r", step="s", code=Code())
    first = data.snapshot(str(source), "digits", store=store, options=SnapshotOptions(), lineage=lineage)
    (source / "new").write_text("of another run")
    assert take(source).changed
    (source / "new").unlink()
    again = data.snapshot(str(source), "digits", store=store, options=SnapshotOptions(), lineage=lineage)
    assert again == first


def test_only_what_is_new_is_written(source: Path, take: Take, store: Store) -> None:
    (source / "big").write_bytes(os.urandom(PACKED_BELOW))
    take(source)
    before = {entry.key for entry in store.list("objects")}
    (source / "a.txt").rename(source / "moved.txt")
    (source / "copy").write_text("two")
    (source / "fresh").write_bytes(b"fresh")
    take(source)
    written = {entry.key: entry.size for entry in store.list("objects") if entry.key not in before}
    # One pack with the fresh file alone, the shard of rows, the table of places.
    assert len(written) == 3
    assert b"fresh" in [store.get(key) for key in written]


def test_a_file_that_changed_within_the_same_size_is_seen(source: Path, take: Take, tmp_path: Path) -> None:
    take(source, cache_dir=tmp_path / "cache")
    (source / "a.txt").write_text("ONE")
    assert take(source, cache_dir=tmp_path / "cache").changed


def test_what_is_unchanged_is_not_read_again(
    source: Path, take: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldenpath.data.tree._SETTLED_NS", -(10**9))
    first = take(source, cache_dir=tmp_path / "cache")
    monkeypatch.setattr(Tree, "read_whole", lambda *_: pytest.fail("a file was read"))
    assert take(source, cache_dir=tmp_path / "cache").ref == first.ref


def test_files_changed_just_before_the_scan_are_not_trusted_later(
    source: Path, take: Take, tmp_path: Path
) -> None:
    take(source, cache_dir=tmp_path / "cache")
    (cached,) = (tmp_path / "cache").rglob("rows/*")
    assert cached.read_bytes().count(b"\n") == 1


def test_a_damaged_cache_costs_time_and_nothing_else(
    source: Path, take: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldenpath.data.tree._SETTLED_NS", -(10**9))
    first = take(source, cache_dir=tmp_path / "cache")
    (cached,) = (tmp_path / "cache").rglob("rows/*")
    good = cached.read_bytes()
    position = good.index(b'["') + 2
    wrong = good[:position] + (b"0" if good[position : position + 1] != b"0" else b"1") + good[position + 1 :]
    for damaged in (wrong, b"nonsense", good[:-20], good.replace(b"path", b"paht")):
        cached.write_bytes(damaged)
        assert take(source, cache_dir=tmp_path / "cache").ref == first.ref


def test_a_single_file_is_a_source(source: Path, take: Take) -> None:
    taken = take(source / "a.txt")
    assert (taken.files, taken.bytes) == (1, 3)


@pytest.mark.parametrize("name", ["", "Digits", "a b", "x" * 200, "../up", "-a"])
def test_a_name_that_no_reference_can_carry_is_refused(source: Path, take: Take, name: str) -> None:
    with pytest.raises(RefError, match="is not allowed"):
        take(source, name=name)


def test_a_missing_source_is_named(take: Take, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        take(tmp_path / "nowhere")


def test_a_source_without_files_is_refused(take: Take, tmp_path: Path, store: Store) -> None:
    (tmp_path / "void" / "inner").mkdir(parents=True)
    with pytest.raises(InputError, match="holds no files"):
        take(tmp_path / "void")
    with pytest.raises(InputError, match="source is empty"):
        take("")
    assert list(store.list("refs")) == []


def test_a_link_that_leaves_the_root_is_refused_by_name(source: Path, take: Take) -> None:
    (source / "sub" / "out").symlink_to("../../secret")
    with pytest.raises(InputError, match=r"sub/out.*may be outside"):
        take(source)


def test_a_socket_is_refused_by_name(source: Path, take: Take) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(source / "ear"))
        with pytest.raises(InputError, match="ear"):
            take(source)


def test_a_name_that_is_not_utf8_is_refused(source: Path, take: Take) -> None:
    (source / os.fsdecode(b"latin-\xe9")).write_text("x")
    with pytest.raises(InputError, match="not valid UTF-8"):
        take(source)


def test_excluded_files_and_the_projects_own_state_are_left_out(source: Path, take: Take) -> None:
    (source / ".goldenpath").mkdir()
    (source / ".goldenpath" / "state").write_text("x")
    (source / "scratch.tmp").write_text("x")
    (source / ".git").mkdir()
    (source / ".git" / "HEAD").write_text("x")
    assert take(source, options={"exclude": ("*.tmp",)}).files == 3  # .git is data like any other


def test_the_code_preset_leaves_out_what_git_ignores(tmp_path: Path, take: Take, store: Store) -> None:
    root = tmp_path / "project"
    for path in (
        "train.py",
        "pkg/m.py",
        "data/huge.bin",
        "pkg/__pycache__/m.pyc",
        "new.py",
        ".venv/x",
        "out.log",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    (root / ".gitignore").write_text("data/\n*.log\n")
    outside_git = take(root, options={"preset": "code"})
    assert files_of(outside_git.ref, store) == {
        ".gitignore", "train.py", "pkg/m.py", "data/huge.bin", "new.py", "out.log"
    }  # fmt: skip
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "train.py"], check=True)
    inside_git = take(root, options={"preset": "code"})
    assert files_of(inside_git.ref, store) == {".gitignore", "train.py", "pkg/m.py", "new.py"}


def test_code_in_a_folder_that_git_ignores_is_taken_whole(tmp_path: Path, take: Take, store: Store) -> None:
    root = tmp_path / "repository"
    (root / "demo").mkdir(parents=True)
    (root / ".gitignore").write_text("demo/\n")
    (root / "demo" / "train.py").write_text("pass")
    subprocess.run(["git", "init", "-q", root], check=True)
    assert files_of(take(root / "demo", options={"preset": "code"}).ref, store) == {"train.py"}


def files_of(ref: str, store: Store) -> set[str]:
    return {row.path for row in versions.open_version(ref, store=store)[1].rows() if row.is_file}


def test_a_file_that_changes_while_it_is_read_is_read_again(
    source: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from goldenpath.data import tree

    real, calls = tree._read, []

    def slow_read(file: int, length: int, start: int = 0) -> bytes:
        found = real(file, length, start)
        if not calls:
            (source / "a.txt").write_text("one and more")
        calls.append(found)
        return found

    monkeypatch.setattr(tree, "_read", slow_read)
    taken = take(source)
    assert taken.bytes == len("one and more") + 3


def test_files_that_never_hold_still_fail_the_snapshot_by_name(
    source: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from goldenpath.data import tree

    real = tree._read

    def restless(file: int, length: int, start: int = 0) -> bytes:
        with (source / "a.txt").open("a") as more:
            more.write("+")
        return real(file, length, start)

    monkeypatch.setattr(tree, "_read", restless)
    with pytest.raises(Temporary, match=r"'a\.txt'"):
        take(source)
    assert list(store.list("refs")) == []


def test_a_large_file_that_changes_fails_the_snapshot_by_name(
    source: Path, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source / "big").write_bytes(bytes(PACKED_BELOW))
    real = Tree.read_block

    def touched(self: Tree, entry: object, start: int, length: int) -> bytes:
        os.utime(source / "big", (5, 5))
        return real(self, entry, start, length)  # type: ignore[arg-type]

    monkeypatch.setattr(Tree, "read_block", touched)
    with pytest.raises(Temporary, match="'big'"):
        take(source)


def test_a_file_that_vanishes_fails_the_snapshot_by_name(
    source: Path, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_module = import_module("goldenpath.data.snapshot")  # the package has the function by this name
    real = snapshot_module._ranges

    def vanish(entries: object) -> object:
        for found in real(entries):  # type: ignore[arg-type]
            (source / "a.txt").unlink()
            yield found

    monkeypatch.setattr(snapshot_module, "_ranges", vanish)
    with pytest.raises(Temporary, match=r"'a\.txt'"):
        take(source)


def test_a_file_that_may_not_be_read_is_named(
    source: Path, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def forbidding(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("a.txt"):
            raise PermissionError(13, "Permission denied")  # root, who runs tests in a container, may
        return real(path, flags, mode)

    monkeypatch.setattr("goldenpath.data.tree.os.open", forbidding)
    with pytest.raises(InputError, match=r"a\.txt"):
        take(source)


def test_a_store_that_ignores_conditional_writes_is_refused(
    source: Path, take: Take, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "create", lambda self, key, data: (self.put(key, data), True)[1])
    with pytest.raises(InputError, match="conditional writes"):
        take(source)
    assert list(store.list("refs")) == []
