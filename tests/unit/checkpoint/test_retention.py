from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from goldenpath.checkpoint import Checkpointer, CheckpointPolicy, KeepBest, list_checkpoints, prune, verify
from goldenpath.checkpoint.manifest import Manifest, Part, StoredObject
from goldenpath.checkpoint.retention import Plan, kept_steps, plan
from goldenpath.refs import Kind
from goldenpath.store import Entry, Store, keys

NOW = datetime(2026, 6, 1, tzinfo=UTC)
RUN = "run-1"


def manifest(step: int, *, attempt: str = "0000000a", size: int = 10, **metrics: float) -> Manifest:
    key = keys.checkpoint_object(RUN, attempt, step, 0, 0)
    return Manifest(
        run=RUN,
        step=step,
        attempt=attempt,
        world_size=1,
        created_at=(NOW + timedelta(minutes=step)).isoformat(),
        metrics=metrics,
        part_size=100,
        tree={},
        arrays={},
        parts=(Part(rank=0, size=size, objects=(StoredObject(key=key, size=size, sha256="0" * 64),)),),
    )


def entry(key: str, *, size: int = 10, age: timedelta = timedelta(days=30)) -> Entry:
    return Entry(key, size, NOW - age, "")


def entries_of(*manifests: Manifest) -> list[Entry]:
    found = []
    for one in manifests:
        found += [entry(item.key, size=item.size) for item in one.objects]
        found.append(entry(keys.checkpoint_complete(RUN, one.attempt, one.step), size=3))
    return found


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ({"keep_last": 1}, {50}),
        ({"keep_last": 2}, {40, 50}),
        ({"keep_last": 99}, {10, 20, 30, 40, 50}),
        ({"keep_last": 1, "keep_best": KeepBest(metric="acc")}, {20, 50}),
        ({"keep_last": 1, "keep_best": KeepBest(metric="acc", mode="min")}, {10, 50}),
        ({"keep_last": 1, "keep_best": KeepBest(metric="acc", count=2)}, {20, 30, 50}),
        ({"keep_last": 1, "keep_best": KeepBest(metric="unknown")}, {50}),
        ({"keep_last": 1, "keep_every_steps": 20}, {20, 40, 50}),
        ({"keep_last": 1, "keep_every_s": 1200}, {10, 20, 40, 50}),
        ({"keep_last": 1, "pins": (10, 77)}, {10, 50}),
    ],
)
def test_what_a_policy_keeps(policy: dict[str, Any], kept: set[int]) -> None:
    found = [
        manifest(10, acc=0.1), manifest(20, acc=0.9), manifest(30, acc=0.5), manifest(40), manifest(50),
    ]  # fmt: skip
    assert kept_steps(found, CheckpointPolicy(**policy)) == kept


def decided(
    manifests: list[Manifest], extra: list[Entry] | None = None, missing: str = "", **given: Any
) -> Plan:
    entries = [e for e in [*entries_of(*manifests), *(extra or [])] if e.key != missing]
    defaults: dict[str, Any] = {
        "run": RUN,
        "policy": CheckpointPolicy(keep_last=1),
        "now": NOW,
        "all_steps": [m.step for m in manifests],
    }
    return plan(manifests, entries, **{**defaults, **given})


def test_a_commit_goes_before_its_data() -> None:
    old, new = manifest(1), manifest(2)
    found = decided([old, new])
    assert found.keys == (
        keys.ref(Kind.CHECKPOINTS, RUN, 1),
        keys.checkpoint_complete(RUN, "0000000a", 1),
        old.objects[0].key,
    )
    assert (found.result.kept, found.result.dropped, found.result.size) == ((2,), (1,), 13)


def test_a_checkpoint_that_lacks_an_object_counts_for_no_rule() -> None:
    old, new = manifest(1), manifest(2)
    found = decided([old, new], missing=new.objects[0].key)
    assert found.result.dropped == ()
    assert found.keys == ()


def test_a_checkpoint_known_to_be_damaged_counts_for_no_rule() -> None:
    assert decided([manifest(1), manifest(2)], damaged={2}).result.dropped == ()


@pytest.mark.parametrize(
    ("key", "goes"),
    [
        ("checkpoints/run-1/0000000b/0000000001/00000-00000.bin", True),
        ("checkpoints/run-1/0000000b/0000000001/manifest.json", True),
        ("checkpoints/run-1/0000000b/rounds/0000000001/verdict.json", True),
        ("checkpoints/run-1/0000000b/rounds/0000000001/3.json", True),
        ("checkpoints/run-1/0000000b/notes.txt", False),
        ("checkpoints/run-1/0000000b/0000000001/00000-00000.bin.tmp", False),
        ("checkpoints/run-1/mine/0000000001/00000-00000.bin", False),
        ("checkpoints/run-1/weights.pt", False),
        ("checkpoints/run-1/0000000B/0000000001/00000-00000.bin", False),
    ],
)
def test_only_what_is_known_to_be_ours_is_ever_collected(key: str, goes: bool) -> None:
    found = decided([manifest(2)], [entry(key)])
    assert (key in found.keys) is goes
    assert found.result.unknown == (0 if goes else 1)


@pytest.mark.parametrize("age", [timedelta(0), timedelta(hours=23)])
def test_data_younger_than_the_grace_period_stays(age: timedelta) -> None:
    key = keys.checkpoint_object(RUN, "0000000b", 1, 0, 0)
    assert decided([manifest(2)], [entry(key, age=age)]).keys == ()


def test_data_of_the_attempt_at_work_stays() -> None:
    key = keys.checkpoint_object(RUN, "0000000b", 3, 0, 0)
    assert decided([manifest(2)], [entry(key)], attempt="0000000b").keys == ()


def test_data_of_a_commit_that_cannot_be_read_stays() -> None:
    key = keys.checkpoint_object(RUN, "0000000b", 7, 0, 0)
    found = decided([manifest(2)], [entry(key)], all_steps=[2, 7])
    assert found.keys == ()
    assert found.result.kept == (2, 7)


def test_nothing_is_collected_from_a_run_without_commits() -> None:
    key = keys.checkpoint_complete(RUN, "0000000b", 7)
    assert decided([], [entry(key)]).keys == ()


def test_pruning_deletes_what_was_planned_and_nothing_else(memory_store: Store) -> None:
    foreign = "checkpoints/run-1/tmp.orbax-checkpoint-tmp-3/data"
    memory_store.put(foreign, b"another tool's")
    with Checkpointer(
        store=memory_store, run=RUN, attempt="0000000a", policy=CheckpointPolicy(keep_last=10)
    ) as one:
        for step in range(1, 6):
            one.save(step, {"w": np.full(10, step)})
    told = prune(RUN, store=memory_store, policy=CheckpointPolicy(keep_last=2), dry_run=True)
    assert len(list_checkpoints(RUN, store=memory_store)) == 5
    found = prune(RUN, store=memory_store, policy=CheckpointPolicy(keep_last=2))
    assert found == told
    assert [info.step for info in list_checkpoints(RUN, store=memory_store)] == [4, 5]
    assert {e.key for e in memory_store.list("checkpoints")} == {
        foreign,
        *(keys.checkpoint_object(RUN, "0000000a", step, 0, 0) for step in (4, 5)),
        *(keys.checkpoint_complete(RUN, "0000000a", step) for step in (4, 5)),
    }


def test_old_checkpoints_go_after_each_commit(memory_store: Store) -> None:
    policy = CheckpointPolicy(keep_last=2)
    with Checkpointer(store=memory_store, run=RUN, attempt="0000000a", policy=policy) as one:
        for step in range(1, 8):
            one.save(step, {"w": np.ones(3)})
    assert [info.step for info in list_checkpoints(RUN, store=memory_store)] == [6, 7]


def test_a_listing_that_misses_a_commit_makes_nothing_look_abandoned(memory_store: Store) -> None:
    class ListsLate(Store):
        def list(self, prefix: str = "") -> Iterator[Entry]:
            return (e for e in super().list(prefix) if not e.key.endswith("0000000001.json"))

    with Checkpointer(
        store=memory_store, run=RUN, attempt="0000000a", policy=CheckpointPolicy(keep_last=10)
    ) as one:
        one.save(1, {"w": np.ones(3)})
        one.save(2, {"w": np.ones(3)})
    late = ListsLate(memory_store.url, memory_store.backend)
    found = prune(RUN, store=late, policy=CheckpointPolicy(keep_last=1, grace_s=0))
    assert (found.kept, found.abandoned) == ((1, 2), 0)
    assert verify(f"{RUN}:1", store=memory_store).step == 1
