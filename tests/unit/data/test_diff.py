from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from goldenpath import data
from goldenpath.data import DiffResult, SnapshotResult
from goldenpath.store import Store

Take = Callable[..., SnapshotResult]


def test_a_diff_counts_and_names_what_differs(tmp_path: Path, take: Take, store: Store) -> None:
    root = tmp_path / "source"
    root.mkdir()
    for name in ("a", "b", "c"):
        (root / name).write_text(name)
    old = take(root).ref
    (root / "a").write_text("longer")
    (root / "b").unlink()
    (root / "d").write_text("dd")
    (root / "c").chmod(0o700)
    new = take(root).ref
    assert data.diff(old, new, store=store) == DiffResult(
        added=1, removed=1, changed=2, bytes=9, identical=False, names=("+ d", "- b", "~ a", "~ c")
    )
    assert data.diff(new, old, store=store).names == ("+ b", "- d", "~ a", "~ c")


def test_a_version_differs_in_nothing_from_itself(tmp_path: Path, take: Take, store: Store) -> None:
    (tmp_path / "f").write_text("x")
    ref = take(tmp_path / "f").ref
    assert data.diff(ref, "digits", store=store) == DiffResult(
        added=0, removed=0, changed=0, bytes=0, identical=True, names=()
    )
