from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldenpath.checkpoint import (
    Checkpointer,
    CheckpointPolicy,
    PerRank,
    catalogue,
    export,
    list_checkpoints,
    mean_stall_s,
    resolve,
    select,
    verify,
)  # fmt: skip
from goldenpath.errors import DataDamaged, InputError, NotFound, RefError
from goldenpath.refs import Kind
from goldenpath.store import Store, keys


@pytest.fixture
def store(memory_store: Store) -> Store:
    """A store with steps 1, 2 and 3 of a run."""
    scores = {1: {"acc": 0.5, "loss": 3.0}, 2: {"acc": 0.9}, 3: {"acc": 0.9}}
    with Checkpointer(
        store=memory_store,
        run="run-1",
        attempt="0000000a",
        policy=CheckpointPolicy(keep_last=9),
        part_size=64,
    ) as one:
        for step, metrics in scores.items():
            one.save(step, {"w": np.full((2, 9), float(step)), "rng": PerRank([1])}, metrics=metrics)
    return memory_store


def test_checkpoints_are_listed_by_step_with_what_was_saved(store: Store) -> None:
    found = list_checkpoints("run-1", store=store)
    assert [(info.step, info.metrics) for info in found] == [
        (1, {"acc": 0.5, "loss": 3.0}), (2, {"acc": 0.9}), (3, {"acc": 0.9}),
    ]  # fmt: skip
    assert {(info.size, info.world_size, info.attempt) for info in found} == {(144, 1, "0000000a")}
    assert list_checkpoints("run-2", store=store) == []


def test_a_key_that_is_no_commit_is_not_listed(store: Store) -> None:
    store.put("refs/checkpoints/run-1/latest", b"3")
    assert catalogue.steps("run-1", store=store) == [1, 2, 3]


@pytest.mark.parametrize(
    ("metric", "mode", "step"), [("", "max", 3), ("acc", "max", 3), ("acc", "min", 1), ("loss", "max", 1)]
)
def test_the_newest_or_the_best_is_selected(store: Store, metric: str, mode: Any, step: int) -> None:
    assert select("run-1", store=store, metric=metric, mode=mode).step == step


def test_a_checkpoint_without_its_objects_is_not_selected(store: Store, notes: list[str]) -> None:
    manifest, _ = catalogue.read("run-1", 3, store=store)
    store.delete(manifest.objects[0].key)
    assert select("run-1", store=store).step == 2
    assert any("run-1:3 is left out" in note for note in notes)


def test_a_metric_that_no_checkpoint_has_is_an_error_and_no_guess(store: Store) -> None:
    with pytest.raises(NotFound, match=r"metric 'f1'.*Metrics: acc, loss"):
        select("run-1", store=store, metric="f1")


def test_a_run_without_checkpoints_has_nothing_to_select(store: Store) -> None:
    with pytest.raises(NotFound, match="run-2 has no usable checkpoint"):
        select("run-2", store=store)


def test_a_reference_is_resolved_with_and_without_step_and_digest(store: Store) -> None:
    newest = list_checkpoints("run-1", store=store)[-1]
    for ref in ("run-1", "run-1:3", newest.ref, f"{store.url}/checkpoints/run-1:3"):
        assert resolve(ref, store=store)[2] == newest


@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        ("run-1:9", NotFound),
        ("run-2", NotFound),
        ("run-1:3@sha256:" + "0" * 64, DataDamaged),
        ("run-1@sha256:" + "0" * 64, RefError),
        ("models/run-1:3", RefError),
    ],
)
def test_a_reference_to_nothing_is_refused(store: Store, ref: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        resolve(ref, store=store)


def test_verify_reads_every_object_and_names_the_damaged_ones(store: Store) -> None:
    assert verify("run-1:2", store=store).step == 2
    manifest, _ = catalogue.read("run-1", 2, store=store)
    first, second, _ = manifest.objects
    store.put(first.key, b"x" * first.size)
    store.delete(second.key)
    with pytest.raises(DataDamaged) as error:
        verify("run-1:2", store=store)
    assert f"{first.key} is damaged" in str(error.value)
    assert f"{second.key} is missing" in str(error.value)


def test_the_cost_of_a_save_is_recorded(store: Store) -> None:
    assert 0 < mean_stall_s("run-1", store=store) < 10
    assert mean_stall_s("run-2", store=store) == 0


def test_an_export_is_read_by_safetensors_alone(store: Store, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    info = export("run-1:2", tmp_path / "out", store=store)
    found = safetensors.load_file(tmp_path / "out" / "tensors.safetensors")
    np.testing.assert_array_equal(found["w"], np.full((2, 9), 2.0))
    state = json.loads((tmp_path / "out" / "state.json").read_text())
    assert state == {"tree": {"w": {"$array": "w"}, "rng": {"$rank": "rng"}}, "own": [{"rng": [1]}]}
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["ref"] == info.ref


def test_an_export_of_damaged_data_leaves_nothing(store: Store, tmp_path: Path) -> None:
    manifest, _ = catalogue.read("run-1", 2, store=store)
    store.put(manifest.objects[1].key, b"x" * 64)
    with pytest.raises(DataDamaged):
        export("run-1:2", tmp_path / "exports" / "out", store=store)
    assert list((tmp_path / "exports").iterdir()) == []


def test_an_export_never_overwrites(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists"):
        export("run-1:2", tmp_path, store=store)


def test_an_unreadable_commit_is_told_of_and_left_out(store: Store, notes: list[str]) -> None:
    store.put(keys.ref(Kind.CHECKPOINTS, "run-1", 3), b"{")
    assert [info.step for info in list_checkpoints("run-1", store=store)] == [1, 2]
    assert any("run-1:3 is left out" in note for note in notes)
