"""How the ranks of one job agree: each gives a value, rank 0 decides, all get the verdict.

One exchange covers gathering outcomes, committing and telling the result, so that a rank that failed
reports its failure at the place where the others wait for it, and none is stranded.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from goldenpath.errors import ConfigError, GoldenPathError, Temporary
from goldenpath.store import Store, keys

Decide = Callable[[list[Any]], Any]

_UNDECIDED = {"error": {"type": "Temporary", "message": "Rank 0 stopped while it decided."}}
_POLL_S = 0.02
_MAX_POLL_S = 1.0


class Coordinator(Protocol):
    """The ranks of one job. All values are JSON data."""

    def agree(self, value: Any, decide: Decide) -> Any:
        """Gives ``value`` to rank 0 and returns its verdict; every rank calls this in the same order.

        Args:
            value: What this rank has to say.
            decide: Called on rank 0 alone, with the values of all ranks in their order. Where it
                raises, the other ranks get ``{"error": {"type", "message"}}``.

        Raises:
            Temporary: A rank is gone, or did not come in time.
        """

    def same(self, value: bool) -> bool:
        """Rank 0's value on every rank: for the training loop itself, beside ``agree`` in background.

        Raises:
            ConfigError: The ranks have no way to talk that is quick enough for every step.
        """

    def close(self) -> None:
        """Frees what it holds."""


class Alone:
    """A job of one rank."""

    def agree(self, value: Any, decide: Decide) -> Any:
        """Decides at once."""
        return decide([value])

    def same(self, value: bool) -> bool:
        """It is."""
        return value

    def close(self) -> None:
        """There is nothing to free."""


class TorchCoordinator:
    """Over ``torch.distributed``, in a gloo group of its own: training's collectives are left alone."""

    def __init__(self, *, timeout_s: float) -> None:
        import torch.distributed as dist

        self._dist = dist
        wait = timedelta(seconds=timeout_s)
        self._group: Any = dist.new_group(backend="gloo", timeout=wait)
        self._foreground: Any = dist.new_group(backend="gloo", timeout=wait)
        self._rank = dist.get_rank()
        self._size = dist.get_world_size()

    def agree(self, value: Any, decide: Decide) -> Any:
        """Gathers on rank 0 and broadcasts from it."""
        texts: list[Any] | None = [None] * self._size if self._rank == 0 else None
        verdict: list[Any] = [json.dumps(_UNDECIDED)]
        try:
            self._dist.gather_object(json.dumps(value), texts, dst=0, group=self._group)
            try:
                if texts is not None:
                    verdict = [json.dumps(decide([json.loads(text) for text in texts]))]
            finally:
                self._dist.broadcast_object_list(verdict, src=0, group=self._group)
        except GoldenPathError:
            raise
        except RuntimeError as error:
            raise _lost(str(error).partition("\n")[0]) from error
        return json.loads(verdict[0])

    def same(self, value: bool) -> bool:
        """Broadcasts one byte."""
        import torch

        told = torch.tensor([value], dtype=torch.uint8)
        try:
            self._dist.broadcast(told, src=0, group=self._foreground)
        except RuntimeError as error:
            raise _lost(str(error).partition("\n")[0]) from error
        return bool(told.item())

    def close(self) -> None:
        """Leaves the groups, unless torch has taken all of them down already."""
        if self._dist.is_initialized():
            self._dist.destroy_process_group(self._group)
            self._dist.destroy_process_group(self._foreground)


class StoreCoordinator:
    """Over small objects in the store, for ranks that have no other way to talk.

    A round is a folder of the attempt's own, where each rank creates its value and rank 0 the
    verdict. Meant for tens of ranks and minutes between saves; with torch, use its group.
    """

    def __init__(
        self, *, store: Store, run: str, attempt: str, rank: int, world_size: int, timeout_s: float
    ) -> None:
        self._store, self._run, self._attempt = store, run, attempt
        self._rank, self._size, self._timeout_s = rank, world_size, timeout_s
        self._round = 0

    def agree(self, value: Any, decide: Decide) -> Any:
        """Writes this rank's value and reads the verdict, or reads the values and writes it."""
        deadline = time.monotonic() + self._timeout_s
        self._round += 1
        if self._rank != 0:
            self._tell(str(self._rank), value)
            return self._ask("verdict", deadline)
        verdict: Any = _UNDECIDED
        try:
            others = [self._ask(str(rank), deadline) for rank in range(1, self._size)]
            verdict = decide([value, *others])
        finally:
            self._tell("verdict", verdict)
        return verdict

    def same(self, value: bool) -> bool:  # noqa: ARG002  (the protocol's)
        """Refuses: a round through the store at every step would slow training."""
        raise ConfigError(
            f"{self._size} ranks without torch.distributed cannot decide by the clock when to save.",
            next_step="Set the policy's every_s to 0 and every_steps to a number.",
        )

    def close(self) -> None:
        """There is nothing to free."""

    def _tell(self, name: str, value: Any) -> None:
        key, data = self._key(name), json.dumps(value).encode()
        if not self._store.create(key, data) and self._store.get(key) != data:
            raise GoldenPathError(
                f"The attempt {self._attempt} of {self._run} has a round {self._round} already.",
                next_step="Each start of a job needs an attempt's name of its own.",
            )

    def _ask(self, name: str, deadline: float) -> Any:
        wait = _POLL_S
        while (data := self._store.get_or_none(self._key(name))) is None:
            if time.monotonic() > deadline:
                raise _lost(f"{name!r} of round {self._round} did not come in {self._timeout_s:.0f} s")
            time.sleep(wait)
            wait = min(wait * 1.5, _MAX_POLL_S)
        return json.loads(data)

    def _key(self, name: str) -> str:
        return keys.checkpoint_round(self._run, self._attempt, self._round, name)


def coordinator_for(
    *, store: Store, run: str, attempt: str, rank: int, world_size: int, timeout_s: float
) -> Coordinator:
    """The coordinator that fits: none for one rank, torch's group where there is one, else the store."""
    if world_size == 1:
        return Alone()
    if _torch_is_initialised():
        return TorchCoordinator(timeout_s=timeout_s)
    return StoreCoordinator(
        store=store, run=run, attempt=attempt, rank=rank, world_size=world_size, timeout_s=timeout_s
    )


def _torch_is_initialised() -> bool:
    # Whoever initialised torch.distributed has imported it; nobody else pays for it.
    dist = sys.modules.get("torch.distributed")
    return dist is not None and dist.is_available() and dist.is_initialized()


def _lost(reason: str) -> Temporary:
    return Temporary(
        f"A rank is gone or did not answer: {reason}.",
        next_step="The job goes on from its last checkpoint when it is started again.",
    )
