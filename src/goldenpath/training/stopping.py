"""SIGTERM, as a training loop sees it: a question that all ranks answer alike at the same step."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from goldenpath.training.ranks import torch_distributed


class StopSignal:
    """Catches SIGTERM, and tells of it when it is asked.

    The signal no longer ends the process by itself: the loop has the job's grace to save and leave,
    then SIGKILL follows.
    """

    def __init__(self) -> None:
        self._seen = False
        self._group: Any = None
        self._before: Any = None
        self._caught = threading.current_thread() is threading.main_thread()
        if self._caught:
            self._before = signal.signal(signal.SIGTERM, self._note)

    def _note(self, _signum: int, _frame: FrameType | None) -> None:
        self._seen = True

    def close(self) -> None:
        """Gives the signal back to whoever had it."""
        if self._caught:
            signal.signal(signal.SIGTERM, self._before or signal.SIG_DFL)

    def agreed(self) -> bool:
        """Whether any rank has seen the signal; every rank asks equally often, and all get one answer.

        Where torch.distributed is not initialised, each rank answers for itself.
        """
        dist = torch_distributed()
        if dist is None or dist.get_world_size() == 1:
            return self._seen
        import torch

        if self._group is None:
            # On the CPU and in a group of its own: the program's group may know GPUs alone.
            self._group = dist.new_group(backend="gloo")
        seen = torch.tensor([self._seen], dtype=torch.uint8)
        dist.all_reduce(seen, op=dist.ReduceOp.MAX, group=self._group)
        return bool(seen.item())
