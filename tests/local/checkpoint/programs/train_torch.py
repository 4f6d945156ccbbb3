"""Data-parallel training on the CPU, run by torchrun, that can be killed and started again.

    torchrun … train_torch.py <store> <final> [<rank>:<step>]

The rank kills itself at the step. What is saved: model, optimizer, the position in the data, how
often each sample was seen, and each rank's random generator (dropout uses it).
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from goldenpath.checkpoint import Checkpointer, CheckpointPolicy, PerRank
from goldenpath.provenance import new_attempt
from goldenpath.store import open_store

SAMPLES, BATCH, EPOCHS = 32, 4, 4


def main() -> None:
    url, final, *kill = sys.argv[1:]
    victim, at = map(int, kill[0].split(":")) if kill else (-1, -1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    attempt: list[Any] = [new_attempt()]
    dist.broadcast_object_list(attempt, src=0)
    torch.manual_seed(rank)
    data = torch.randn(SAMPLES, 6, generator=torch.Generator().manual_seed(1))
    target = data.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 1))
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=0)
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    seen, step = torch.zeros(SAMPLES, dtype=torch.int64), 0
    checkpointer = Checkpointer(
        store=open_store(url),
        run="run-1",
        attempt=attempt[0],
        rank=rank,
        world_size=size,
        policy=CheckpointPolicy(every_steps=2, every_s=0, timeout_s=60),
    )
    found = checkpointer.restore()
    if found is not None:
        model.load_state_dict(found.state["model"])
        optimizer.load_state_dict(found.state["optimizer"])
        torch.set_rng_state(found.state["rng"])
        seen, step = found.state["seen"], found.step + 1
    steps = EPOCHS * SAMPLES // (BATCH * size)
    resumed = found.step if found else None
    while step < steps:
        if (rank, step) == (victim, at):
            os.kill(os.getpid(), signal.SIGKILL)
        place = step * BATCH * size
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(place // SAMPLES))
        batch = order[place % SAMPLES :][: BATCH * size]
        seen[batch] += 1
        mine = batch[rank::size]
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data[mine]), target[mine]).backward()
        optimizer.step()
        if checkpointer.due(step):
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "seen": seen,
                "rng": PerRank(torch.get_rng_state()),
            }
            checkpointer.save(step, state)
        step += 1
    checkpointer.close()
    if rank == 0:
        digest = hashlib.sha256()
        for parameter in model.parameters():
            digest.update(parameter.detach().numpy().tobytes())
        found_end = {"weights": digest.hexdigest(), "seen": seen.tolist(), "resumed": resumed}
        Path(final).write_text(json.dumps(found_end))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
