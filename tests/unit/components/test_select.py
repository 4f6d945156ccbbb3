from __future__ import annotations

import numpy as np

from goldenpath import settings
from goldenpath.checkpoint import Checkpointer, list_checkpoints
from goldenpath.components.checkpointing.select import select
from goldenpath.steps import RunContext, in_run
from goldenpath.store import open_store


def test_the_component_returns_the_best_checkpoint_and_remembers_it() -> None:
    found_settings = settings.load()
    store = open_store(found_settings.store)
    with Checkpointer(store=store, run="run-1", attempt="0000000a") as one:
        one.save(1, {"w": np.ones(3)}, metrics={"acc": 0.9})
        one.save(2, {"w": np.ones(3)}, metrics={"acc": 0.5})
    with in_run(RunContext(run="run-1", settings=found_settings)):
        best = select(run="run-1", metric="acc")
        assert best == list_checkpoints("run-1", store=store)[0]
        assert select(run="run-1", metric="acc") == best
