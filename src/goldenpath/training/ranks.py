"""Which process of the job this is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """This process among those of the job, as torchrun tells it; one plain process is rank 0 of 1."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Ranks:
        """Reads torchrun's variables."""
        environ = os.environ if environ is None else environ
        return cls(
            rank=int(environ.get("RANK", "0")),
            world_size=int(environ.get("WORLD_SIZE", "1")),
            local_rank=int(environ.get("LOCAL_RANK", "0")),
        )


def torch_distributed() -> Any:
    """``torch.distributed`` if the program has initialised it, else None; torch is never imported here."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return module
