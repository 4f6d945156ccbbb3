"""Run by torchrun: scenarios of several ranks, one after the other; each rank writes what it saw.

torchrun … ranks.py <store> <folder for results> <scenario>…
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from goldenpath import progress
from goldenpath.checkpoint import Checkpointer, CheckpointPolicy, PerRank, catalogue, list_checkpoints
from goldenpath.errors import GoldenPathError, Temporary
from goldenpath.store import Store, open_store


class Faulty(Store):
    """This rank's store, with faults of its own."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner.url, inner.backend)
        self.is_away = False
        self.may_write = threading.Event()
        self.may_write.set()
        self.broken = ""

    def put(self, key: str, data: bytes | memoryview | Path) -> None:
        assert self.may_write.wait(60)
        if self.is_away:
            raise Temporary("The store did not answer.")
        super().put(key, data)

    def chunks(self, key: str) -> Iterator[memoryview]:
        for found in super().chunks(key):
            yield memoryview(b"x" * len(found)) if self.broken and self.broken in key else found


class Notes(progress.LogReporter):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


class Job:
    """One rank of one scenario."""

    def __init__(self, store: Store, run: str) -> None:
        self.store, self.run = Faulty(store), run
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.attempts = 0

    def checkpointer(self, **policy: Any) -> Checkpointer:
        self.attempts += 1
        return Checkpointer(
            store=self.store,
            run=self.run,
            attempt=f"{self.attempts:08x}",
            rank=self.rank,
            world_size=self.size,
            policy=CheckpointPolicy(timeout_s=60, **policy),
            part_size=1024,
        )


def state_of(job: Job, step: int) -> dict[str, Any]:
    torch.manual_seed(step)
    return {
        "model": {f"layer{i}": torch.randn(40, 10) for i in range(4)},
        "bf16": torch.randn(7).bfloat16(),
        "own": PerRank({"seed": job.rank, "state": torch.full((3,), float(job.rank))}),
        "epoch": step,
    }


def replicated(job: Job) -> dict[str, Any]:
    """What all ranks have is written once, evenly; what each has of its own comes back to it."""
    first = job.checkpointer()
    first.save(1, state_of(job, 1))
    first.close()
    second = job.checkpointer()
    found = second.restore()
    second.close()
    assert found is not None
    expected = state_of(job, 1)
    manifest, _ = catalogue.read(job.run, 1, store=job.store)
    return {
        "equal": all(torch.equal(found.state["model"][k], v) for k, v in expected["model"].items())
        and torch.equal(found.state["bf16"], expected["bf16"]),
        "own": [found.state["own"]["seed"], found.state["own"]["state"].tolist()],
        "epoch": found.state["epoch"],
        "part_sizes": [part.size for part in manifest.parts],
        "left_out": list(found.left_out),
    }


def sharded(job: Job) -> dict[str, Any]:
    """A tensor that torch has sharded is written by shards, and read into another sharding."""
    mesh = init_device_mesh("cpu", (job.size,))
    whole = torch.arange(10 * 6, dtype=torch.float32).reshape(10, 6)
    first = job.checkpointer()
    first.save(1, {"w": distribute_tensor(whole, mesh, [Shard(0)]), "plain": torch.ones(3)})
    first.close()
    target = {"w": distribute_tensor(torch.zeros(10, 6), mesh, [Shard(1)]), "plain": torch.zeros(3)}
    second = job.checkpointer()
    found = second.restore(target)
    unsharded = second.restore()
    second.close()
    assert found is not None
    assert unsharded is not None
    copies = {"w": distribute_tensor(torch.zeros(10, 6), mesh, [Replicate()]), "plain": torch.zeros(3)}
    third = job.checkpointer()
    third.restore(copies)
    third.close()
    manifest, _ = catalogue.read(job.run, 1, store=job.store)
    return {
        "in_place": found.state["w"] is target["w"],
        "resharded": torch.equal(target["w"].full_tensor(), whole),
        "replicated": torch.equal(copies["w"].full_tensor(), whole),
        "whole": torch.equal(unsharded.state["w"], whole),
        "writers": sorted(chunk.rank for chunk in manifest.arrays["w"].chunks),
    }


def one_rank_cannot_upload(job: Job) -> dict[str, Any]:
    first = job.checkpointer()
    job.store.is_away = job.rank == job.size - 1
    first.save(1, state_of(job, 1))
    try:
        first.wait()
        error = ""
    except GoldenPathError as caught:
        error = str(caught)
    after_failure = [info.step for info in list_checkpoints(job.run, store=job.store)]
    dist.barrier()
    job.store.is_away = False
    first.save(2, state_of(job, 2))
    info = first.wait()
    first.close()
    return {
        "error": error,
        "after_failure": after_failure,
        "step": info.step if info else None,
        "stats": [first.stats.failed, first.stats.saved],
    }


def one_rank_cannot_serialise(job: Job) -> dict[str, Any]:
    first = job.checkpointer()
    state: dict[str, Any] = {"w": torch.ones(3)}
    if job.rank == 1:
        state["bad"] = object()
    try:
        first.save(1, state)
        first.wait()
        error = ""
    except GoldenPathError as caught:
        error = str(caught)
    first.close()
    return {"error": error, "steps": [info.step for info in list_checkpoints(job.run, store=job.store)]}


def one_rank_sees_damage(job: Job) -> dict[str, Any]:
    first = job.checkpointer()
    for step in (1, 2):
        first.save(step, state_of(job, step))
    first.close()
    job.store.broken = "/0000000002/" if job.rank == 1 else ""
    second = job.checkpointer()
    found = second.restore()
    second.close()
    assert found is not None
    return {"step": found.step, "equal": torch.equal(found.state["bf16"], state_of(job, 1)["bf16"])}


def one_rank_is_busy(job: Job) -> dict[str, Any]:
    first = job.checkpointer(on_busy="skip")
    first.save(1, state_of(job, 1))
    first.wait()
    if job.rank == 1:
        job.store.may_write.clear()
    first.save(2, state_of(job, 2))
    if job.rank == 0:
        time.sleep(0.3)
    accepted = first.save(3, state_of(job, 3))
    job.store.may_write.set()
    first.wait()
    last = first.save(4, state_of(job, 4))
    first.close()
    return {
        "accepted": accepted,
        "last": last,
        "steps": [info.step for info in list_checkpoints(job.run, store=job.store)],
    }


def values_differ(job: Job) -> dict[str, Any]:
    first = job.checkpointer()
    first.save(1, {"loss": float(job.rank), "w": torch.ones(2)})
    first.close()
    second = job.checkpointer()
    found = second.restore()
    second.close()
    assert found is not None
    return {"loss": found.state["loss"]}


def clock(job: Job) -> dict[str, Any]:
    first = job.checkpointer(every_s=1e-6 if job.rank == 0 else 1e6)
    due = first.due(1)
    first.close()
    return {"due": due}


def without_torch_group(job: Job) -> dict[str, Any]:
    """The ranks agree through the store."""
    from goldenpath.checkpoint.coordinator import StoreCoordinator

    def make(attempt: str) -> Checkpointer:
        return Checkpointer(
            store=job.store,
            run=job.run,
            attempt=attempt,
            rank=job.rank,
            world_size=job.size,
            coordinator=StoreCoordinator(
                store=job.store,
                run=job.run,
                attempt=attempt,
                rank=job.rank,
                world_size=job.size,
                timeout_s=60,
            ),
        )

    with make("000000aa") as first:
        first.save(1, state_of(job, 1))
    with make("000000ab") as second:
        found = second.restore()
    assert found is not None
    return {"step": found.step, "own": found.state["own"]["seed"]}


def save_shards(job: Job) -> dict[str, Any]:
    """Saved here, loaded by jobs of other sizes."""
    mesh = init_device_mesh("cpu", (job.size,))
    state = {
        "rows": distribute_tensor(grid(), mesh, [Shard(0)]),
        "columns": distribute_tensor(grid(), mesh, [Shard(1)]),
        "same": torch.arange(5),
        "rng": PerRank(job.rank),
    }
    with job.checkpointer() as first:
        first.save(1, state)
    return {}


def load_shards(job: Job) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (job.size,))
    job.attempts = 100 * job.size
    state = {
        "rows": distribute_tensor(torch.zeros(13, 9), mesh, [Shard(0)]),
        "columns": distribute_tensor(torch.zeros(13, 9), mesh, [Shard(0)]),
        "same": torch.zeros(5, dtype=torch.int64),
        "rng": PerRank(-1),
    }
    with job.checkpointer() as first:
        found = first.restore(state)
    assert found is not None
    return {
        "rows": torch.equal(state["rows"].full_tensor(), grid()),
        "columns": torch.equal(state["columns"].full_tensor(), grid()),
        "same": state["same"].tolist(),
        "left_out": list(found.left_out),
    }


def grid() -> torch.Tensor:
    return torch.arange(13 * 9, dtype=torch.float32).reshape(13, 9)


SCENARIOS: dict[str, Callable[[Job], dict[str, Any]]] = {
    function.__name__: function
    for function in (
        replicated, sharded, one_rank_cannot_upload, one_rank_cannot_serialise, one_rank_sees_damage,
        one_rank_is_busy, values_differ, clock, without_torch_group, save_shards, load_shards,
    )
}  # fmt: skip


def main() -> None:
    url, folder, *names = sys.argv[1:]
    dist.init_process_group("gloo")
    for name in names:
        notes = Notes()
        with progress.reported_by(notes):
            job = Job(open_store(url), name.replace("_", "-").replace("load-", "").replace("save-", ""))
            found = SCENARIOS[name](job)
        found["notes"] = notes.lines
        Path(folder, f"{name}-{dist.get_rank()}-of-{dist.get_world_size()}.json").write_text(
            json.dumps(found)
        )
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
