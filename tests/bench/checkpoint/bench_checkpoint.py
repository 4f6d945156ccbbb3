"""Checkpoints beside torch DCP and raw obstore: two ranks on the CPU, a real SeaweedFS, one run.

    python tests/bench/checkpoint/bench_checkpoint.py [--mib 512] [--rounds 3] [--json]

The state is replicated, as DDP's is: each side writes every byte once, half on each rank. Every round
takes all sides in turns, so that drift hits all alike; figures are medians of the slower rank, after
one round that is not counted (in training, buffers are reused from save to save).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from goldenpath.testing.services import seaweedfs

TARGETS = {
    "stall / DCP sync save to a folder": 0.25,
    "stall / DCP async_save stall": 1.0,
    "durable / raw obstore upload": 1.2,
    "load / raw obstore download": 1.2,
    "extra memory / the rank's share": 1.1,
}


def main() -> None:
    """Starts the server and the ranks, and prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", nargs=2, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker[0], Path(given.worker[1]), given.mib, given.rounds)
        return
    with tempfile.TemporaryDirectory(prefix="bench-checkpoint-") as folder:
        found = launch(Path(folder), given.mib, given.rounds)
    print(json.dumps(found, indent=1) if given.json else table(found))


def launch(folder: Path, mib: int, rounds: int) -> dict[str, Any]:
    """Runs both ranks and returns seconds, ratios and what they were measured on."""
    (folder / "server").mkdir()
    with seaweedfs(folder / "server") as service:
        command = [
            sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
            "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", __file__,
            "--mib", str(mib), "--rounds", str(rounds), "--worker", service.url("bench"), str(folder),
        ]  # fmt: skip
        subprocess.run(command, env={**os.environ, **service.environment, "OMP_NUM_THREADS": "1"}, check=True)
    ranks = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    seconds = {
        name: statistics.median(max(pair) for pair in zip(*(rank[name] for rank in ranks), strict=True))
        for name in ranks[0]
        if name != "extra_memory"
    }
    extra = max(rank["extra_memory"] for rank in ranks)
    ratios = {
        "stall / DCP sync save to a folder": seconds["ours: stall"] / seconds["DCP: sync save to a folder"],
        "stall / DCP async_save stall": seconds["ours: stall"] / seconds["DCP: async_save stall"],
        "durable / raw obstore upload": seconds["ours: durable"] / seconds["obstore: upload"],
        "load / raw obstore download": seconds["ours: load"] / seconds["obstore: download"],
        "extra memory / the rank's share": extra / (mib * 2**20 / 2),
    }
    return {"mib": mib, "ranks": 2, "cpus": os.cpu_count(), "seconds": seconds, "ratios": ratios}


def table(found: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [
        f"{found['mib']} MiB of replicated state, 2 ranks, {found['cpus']} CPUs, SeaweedFS.",
        "",
        "| ratio | measured | target |\n|---|---|---|",
        *(f"| {name} | {value:.2f} | {TARGETS[name]} |" for name, value in found["ratios"].items()),
        "",
        "| side | median s |\n|---|---|",
        *(f"| {name} | {value:.3f} |" for name, value in found["seconds"].items()),
    ]
    return "\n".join(lines)


def work(url: str, folder: Path, mib: int, rounds: int) -> None:
    """One rank: every side in turns."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    state = {f"layer{i}": torch.randn(mib * 2**20 // 4 // 16) for i in range(16)}
    sides = Sides(url, folder, state)
    taken: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for name, seconds in sides.round(number).items():
            if number:
                taken.setdefault(name, []).append(seconds)
    found: dict[str, Any] = {**taken, "extra_memory": sides.extra_memory}
    sides.close()
    (folder / f"rank-{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


class Sides:
    """The things that are compared, on one rank."""

    def __init__(self, url: str, folder: Path, state: dict[str, Any]) -> None:
        import torch.distributed as dist

        from goldenpath.checkpoint import Checkpointer, CheckpointPolicy
        from goldenpath.store import open_store

        self.dist, self.folder, self.state = dist, folder, state
        self.store, self.rank = open_store(url), dist.get_rank()
        self.share = sum(tensor.nbytes for tensor in state.values()) // 2
        self.extra_memory = 0
        self.checkpointer = Checkpointer(
            store=self.store,
            run="bench",
            attempt="00000001",
            rank=self.rank,
            world_size=2,
            policy=CheckpointPolicy(keep_last=1),
        )
        # Once with little, so that imports and clients do not count as memory of the state.
        self.checkpointer.save(0, {"w": state["layer0"][:10]})
        self.checkpointer.wait()
        self.raw = bytes(self.share)
        self.async_group = dist.new_group(backend="gloo")

    def round(self, number: int) -> dict[str, float]:
        """One round: seconds by side."""
        return {
            **self._ours(number),
            "obstore: upload": self._timed(self._upload),
            "obstore: download": self._timed(self._download),
            "DCP: sync save to a folder": self._timed(lambda: self._sync(number)),
            **self._async(number),
        }

    def close(self) -> None:
        self.checkpointer.close()

    def _ours(self, number: int) -> dict[str, float]:
        before = _peak()
        self.dist.barrier()
        started = time.perf_counter()
        self.checkpointer.save(number + 1, self.state)
        stall = time.perf_counter() - started
        self.checkpointer.wait()
        durable = time.perf_counter() - started
        if number == 0:
            self.extra_memory = _peak() - before
        load = self._timed(lambda: self.checkpointer.restore(self.state))
        return {"ours: stall": stall, "ours: durable": durable, "ours: load": load}

    def _upload(self) -> None:
        import obstore

        obstore.put(self.store.backend, f"raw/{self.rank}", self.raw)

    def _download(self) -> None:
        import obstore

        with ThreadPoolExecutor(2) as pool:
            for found in pool.map(
                lambda rank: obstore.get(self.store.backend, f"raw/{rank}").bytes(), (0, 1)
            ):
                assert len(found) == self.share

    def _sync(self, number: int) -> None:
        import torch.distributed.checkpoint as dcp

        dcp.save(self.state, checkpoint_id=self.folder / f"sync-{number}")

    def _async(self, number: int) -> dict[str, float]:
        import torch.distributed.checkpoint as dcp

        self.dist.barrier()
        started = time.perf_counter()
        future: Any = dcp.async_save(
            self.state, checkpoint_id=self.folder / f"async-{number}", process_group=self.async_group
        )
        stall = time.perf_counter() - started
        future.result()
        return {"DCP: async_save stall": stall, "DCP: async_save done": time.perf_counter() - started}

    def _timed(self, act: Callable[[], Any]) -> float:
        self.dist.barrier()
        started = time.perf_counter()
        act()
        return time.perf_counter() - started


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
