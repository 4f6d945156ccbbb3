"""Fixtures of the data engine's tests: a store on this disk, and a way to take versions in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import Lineage, SnapshotOptions, SnapshotResult
from goldenpath.provenance import Code
from goldenpath.store import Store, open_store

Take = Callable[..., SnapshotResult]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store((tmp_path / "store").as_uri())


@pytest.fixture
def take(store: Store) -> Take:
    """Takes a version of a source; each call is a run of its own."""
    runs = iter(range(1000))

    def call(source: Path | str, name: str = "digits", **given: object) -> SnapshotResult:
        options = SnapshotOptions(**given.pop("options", {}))  # type: ignore[arg-type]
        lineage = Lineage(run=f"run-{next(runs)}", step="snapshot", code=Code(commit="c0ffee"))
        values: dict[str, object] = {"store": store, "options": options, "lineage": lineage, **given}
        return data.snapshot(str(source), name, **values)  # type: ignore[arg-type]

    return call
