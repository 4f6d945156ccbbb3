from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from goldenpath.checkpoint.coordinator import Alone, StoreCoordinator, coordinator_for
from goldenpath.errors import ConfigError, GoldenPathError, InputError, Temporary
from goldenpath.store import Store, keys


def make(store: Store, rank: int, *, attempt: str = "0000000a", timeout_s: float = 20) -> StoreCoordinator:
    return StoreCoordinator(
        store=store, run="run-1", attempt=attempt, rank=rank, world_size=2, timeout_s=timeout_s
    )


def test_one_rank_agrees_with_itself() -> None:
    assert Alone().agree(3, lambda values: [*values, "decided"]) == [3, "decided"]
    assert Alone().same(True)


def test_two_ranks_agree_through_the_store_round_after_round(memory_store: Store) -> None:
    def rank_1() -> list[Any]:
        other = make(memory_store, 1)
        return [other.agree(value, lambda _: pytest.fail("rank 1 decides nothing")) for value in ("b", "d")]

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(rank_1)
        rank_0 = make(memory_store, 0)
        mine = [rank_0.agree(value, lambda values: {"all": values}) for value in ("a", "c")]
        assert mine == future.result() == [{"all": ["a", "b"]}, {"all": ["c", "d"]}]


def test_a_rank_that_does_not_come_is_given_up_and_the_others_are_told(memory_store: Store) -> None:
    with pytest.raises(Temporary, match="'1' of round 1 did not come"):
        make(memory_store, 0, timeout_s=0.1).agree("a", lambda values: values)
    # The rank that comes late finds the verdict instead of waiting for ever.
    assert make(memory_store, 1).agree("b", lambda values: values)["error"]["type"] == "Temporary"


def test_a_decision_that_raises_tells_the_others(memory_store: Store) -> None:
    memory_store.put(keys.checkpoint_round("run-1", "0000000a", 1, "1"), b'"b"')

    def decide(values: list[Any]) -> Any:
        raise InputError("no")

    with pytest.raises(InputError):
        make(memory_store, 0).agree("a", decide)
    assert "error" in make(memory_store, 1).agree("b", decide)


def test_an_attempt_that_is_used_twice_is_refused(memory_store: Store) -> None:
    memory_store.put(keys.checkpoint_round("run-1", "0000000a", 1, "1"), b'"of another process"')
    with pytest.raises(GoldenPathError, match="has a round 1 already"):
        make(memory_store, 1).agree("b", lambda values: values)


def test_ranks_without_torch_cannot_go_by_the_clock(memory_store: Store) -> None:
    with pytest.raises(ConfigError, match="every_s"):
        make(memory_store, 0).same(True)


def test_the_coordinator_fits_the_job(memory_store: Store) -> None:
    given: Any = {"store": memory_store, "run": "run-1", "attempt": "0000000a", "rank": 0, "timeout_s": 1}
    assert isinstance(coordinator_for(world_size=1, **given), Alone)
    assert isinstance(coordinator_for(world_size=2, **given), StoreCoordinator)
