from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldenpath.checkpoint import Checkpointer, CheckpointPolicy, PerRank, catalogue, list_checkpoints
from goldenpath.errors import DataDamaged, InputError, Temporary
from goldenpath.refs import Kind
from goldenpath.store import Store, keys

ATTEMPTS = [f"{number:08x}" for number in range(20)]


@pytest.fixture
def checkpointer(memory_store: Store) -> Iterator[Callable[..., Checkpointer]]:
    """Makes checkpointers of one run; each is another attempt."""
    made: list[Checkpointer] = []

    def make(*, store: Store | None = None, **policy: Any) -> Checkpointer:
        found = Checkpointer(
            store=store or memory_store,
            run="run-1",
            attempt=ATTEMPTS[len(made)],
            policy=CheckpointPolicy(**policy),
            part_size=64,
        )
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


class Faulty(Store):
    """A store whose writes under ``checkpoints/`` can be held, or fail."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner.url, inner.backend)
        self.may_write = threading.Event()
        self.may_write.set()
        self.is_away = False

    def put(self, key: str, data: bytes | memoryview | Path) -> None:
        assert self.may_write.wait(20)
        if self.is_away:
            raise Temporary("The store did not answer.")
        super().put(key, data)


def test_a_run_without_checkpoints_starts_from_its_beginning(
    checkpointer: Callable[..., Checkpointer], notes: list[str]
) -> None:
    assert checkpointer().restore() is None
    assert notes == []


def test_a_state_comes_back(checkpointer: Callable[..., Checkpointer]) -> None:
    state = {
        "w": np.arange(100, dtype=np.float32).reshape(4, 25),
        "transposed": np.arange(6).reshape(2, 3).T,
        "big-endian": np.array([1, 2, 3], dtype=">i4"),
        "zero-d": np.array(7),
        "empty": np.empty((0, 3)),
        "scalar": np.float16(1.5),
        "step": 3,
        "rng": PerRank(np.random.default_rng(1).bit_generator.state),
    }
    first = checkpointer()
    assert first.save(3, state, metrics={"accuracy": 0.5})
    info = first.wait()
    found = checkpointer().restore()
    assert found is not None
    assert info is not None
    assert (found.step, found.metrics, found.ref) == (3, {"accuracy": 0.5}, info.ref)
    for name in ("w", "transposed", "big-endian", "zero-d", "empty"):
        np.testing.assert_array_equal(found.state[name], state[name])
        assert found.state[name].shape == state[name].shape
    assert found.state["scalar"] == np.float16(1.5)
    assert isinstance(found.state["scalar"], np.float16)
    assert found.state["step"] == 3
    assert found.state["rng"] == state["rng"].value  # type: ignore[attr-defined]


def test_a_state_is_filled_in_place(checkpointer: Callable[..., Checkpointer]) -> None:
    first = checkpointer()
    first.save(1, {"w": np.arange(6.0).reshape(2, 3), "epoch": 4})
    first.close()
    mine = {"w": np.zeros((3, 2)).T, "epoch": 0}
    found = checkpointer().restore(mine)
    assert found is not None
    assert found.state["w"] is mine["w"]
    np.testing.assert_array_equal(mine["w"], np.arange(6.0).reshape(2, 3))
    assert found.state["epoch"] == 4


def test_the_state_of_another_model_is_refused_with_the_first_differences(
    checkpointer: Callable[..., Checkpointer],
) -> None:
    first = checkpointer()
    first.save(1, {"a": np.zeros(2), "b": np.zeros(3), "c": np.zeros(1)})
    first.close()
    with pytest.raises(InputError) as error:
        checkpointer().restore({"a": np.zeros(5), "b": np.zeros(3, dtype=np.float32), "d": np.zeros(1)})
    text = str(error.value)
    assert "it has no 'd'" in text
    assert "'c', which the state has not" in text
    assert "'a' is float64[2] and not float64[5]" in text
    assert "'b' is float64[3] and not float32[3]" in text


def test_what_training_does_next_does_not_leak_into_a_save(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    store = Faulty(memory_store)
    store.may_write.clear()
    first = checkpointer(store=store)
    weights, log = np.ones(1000), [1, 2]
    first.save(1, {"w": weights, "log": log})
    weights *= 7
    log.append(3)
    store.may_write.set()
    first.close()
    found = checkpointer().restore()
    assert found is not None
    np.testing.assert_array_equal(found.state["w"], np.ones(1000))
    assert found.state["log"] == [1, 2]


def test_each_save_holds_the_weights_of_its_own_step(checkpointer: Callable[..., Checkpointer]) -> None:
    first = checkpointer(keep_last=5)
    weights = np.zeros(100)
    for step in range(1, 4):
        weights += step
        first.save(step, {"w": weights})
    first.close()
    digests = set()
    store = first._store
    for step in (1, 2, 3):
        manifest, _ = catalogue.read("run-1", step, store=store)
        digests.add(manifest.objects[0].sha256)
    assert len(digests) == 3


def test_a_busy_save_is_skipped_or_waited_for_by_policy(
    memory_store: Store, checkpointer: Callable[..., Checkpointer], notes: list[str]
) -> None:
    store = Faulty(memory_store)
    store.may_write.clear()
    skipping = checkpointer(store=store, on_busy="skip")
    assert skipping.save(1, {"w": np.ones(2)})
    assert not skipping.save(2, {"w": np.ones(2)})
    store.may_write.set()
    skipping.wait()
    assert skipping.save(3, {"w": np.ones(2)})
    skipping.close()
    assert (skipping.stats.saved, skipping.stats.skipped) == (2, 1)
    assert any("run-1:2 is skipped" in note for note in notes)
    assert [info.step for info in list_checkpoints("run-1", store=memory_store)] == [1, 3]


def test_training_goes_on_while_the_store_is_away_and_catches_up(
    memory_store: Store, checkpointer: Callable[..., Checkpointer], notes: list[str]
) -> None:
    store = Faulty(memory_store)
    store.is_away = True
    first = checkpointer(store=store)
    first.save(1, {"w": np.ones(2)})
    first.save(2, {"w": np.ones(2)})
    with pytest.raises(Temporary, match="did not answer"):
        first.wait()
    store.is_away = False
    first.save(3, {"w": np.ones(2)})
    info = first.wait()
    assert info is not None
    assert info.step == 3
    assert (first.stats.failed, first.stats.saved) == (2, 1)
    assert any("run-1:1 was not saved" in note for note in notes)


def test_an_upload_that_stalls_is_given_up_at_the_deadline(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    store = Faulty(memory_store)
    store.may_write.clear()
    first = checkpointer(store=store, timeout_s=0.2)
    first.save(1, {"w": np.ones(2)})
    with pytest.raises(Temporary, match="1 of 1 objects of run-1:1 were not uploaded"):
        first.wait()
    store.may_write.set()
    first.save(2, {"w": np.full(2, 5.0)})
    assert first.wait() is not None
    found = checkpointer().restore()
    assert found is not None
    np.testing.assert_array_equal(found.state["w"], np.full(2, 5.0))


def test_what_was_uploaded_for_a_failed_save_is_removed(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    first = checkpointer()
    first.save(5, {"w": np.ones(20)})
    first.wait()
    late = checkpointer()
    late.save(4, {"w": np.ones(20)})
    with pytest.raises(InputError, match="has a checkpoint at step 5 already"):
        late.wait()
    assert list(memory_store.list(keys.checkpoint_files("run-1", ATTEMPTS[1]))) == []


@pytest.mark.parametrize("steps", [(3, 3), (3, 2), (-1,)])
def test_steps_that_go_back_are_refused(
    checkpointer: Callable[..., Checkpointer], steps: tuple[int, ...]
) -> None:
    first = checkpointer()
    *before, last = steps
    for step in before:
        first.save(step, {})
    with pytest.raises(InputError, match=r"[Ss]tep"):
        first.save(last, {})


def test_steps_go_on_from_the_restored_one(checkpointer: Callable[..., Checkpointer]) -> None:
    first = checkpointer()
    first.save(7, {"a": 1})
    first.close()
    second = checkpointer()
    second.restore()
    with pytest.raises(InputError, match="Step 7 is saved after step 7"):
        second.save(7, {"a": 1})


def test_an_error_that_will_not_pass_is_raised_by_the_next_call(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    done = checkpointer()
    done.save(5, {"a": 1})
    done.wait()
    late = checkpointer()
    late.save(3, {"a": 1})
    with pytest.raises(InputError):
        late.wait()
    with pytest.raises(InputError, match="has a checkpoint at step 5 already"):
        late.save(4, {"a": 1})


def test_a_state_that_needs_pickle_fails_at_once_and_training_can_go_on(
    checkpointer: Callable[..., Checkpointer],
) -> None:
    first = checkpointer()
    with pytest.raises(InputError, match=r"'model' is a builtins\.object"):
        first.save(1, {"model": object()})
    with pytest.raises(InputError):
        first.wait()


def test_metrics_that_are_no_numbers_are_left_out(
    checkpointer: Callable[..., Checkpointer], notes: list[str]
) -> None:
    first = checkpointer()
    first.save(1, {}, metrics={"loss": float("nan"), "accuracy": 1.0})
    info = first.wait()
    assert info is not None
    assert info.metrics == {"accuracy": 1.0}
    assert any("'loss' is nan" in note for note in notes)


def test_due_by_steps_and_by_the_clock(checkpointer: Callable[..., Checkpointer]) -> None:
    by_steps = checkpointer(every_steps=10, every_s=0)
    assert [step for step in range(1, 31) if by_steps.due(step)] == [10, 20, 30]
    by_clock = checkpointer(every_s=1e-9)
    assert by_clock.due(1)
    assert not checkpointer(every_s=1e9).due(1)


def test_the_newest_commit_is_the_one_that_is_there_after_a_lost_reply(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    class LosesReplies(Store):
        def create(self, key: str, data: bytes | memoryview | Path) -> bool:
            super().create(key, data)
            raise Temporary("The reply was lost.")

    first = checkpointer(store=LosesReplies(memory_store.url, memory_store.backend))
    first.save(1, {"w": np.ones(3)})
    info = first.wait()
    assert info is not None
    assert info.step == 1


def test_stats_count_seconds_and_bytes(checkpointer: Callable[..., Checkpointer]) -> None:
    first = checkpointer()
    first.save(1, {"w": np.ones(1000)})
    first.wait()
    assert first.stats.bytes_saved == 8000
    assert first.stats.saving_s > 0
    assert first.stats.durable_s > 0
    second = checkpointer()
    second.restore()
    assert second.stats.loading_s > 0


@pytest.mark.parametrize(
    "wrong", [{"run": "Run_1"}, {"attempt": "1"}, {"rank": 2}, {"rank": -1}, {"world_size": 0}]
)
def test_wrong_names_and_ranks_are_refused(memory_store: Store, wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"run": "run-1", "attempt": ATTEMPTS[0], "rank": 0, "world_size": 1}
    with pytest.raises(InputError):
        Checkpointer(store=memory_store, **{**given, **wrong})


def damage(store: Store, step: int, how: str) -> None:
    manifest, _ = catalogue.read("run-1", step, store=store)
    key = manifest.objects[-1].key
    if how == "missing object":
        store.delete(key)
    elif how == "flipped bit":
        data = bytearray(store.get(key))
        data[-1] ^= 1
        store.put(key, bytes(data))
    elif how == "short object":
        store.put(key, store.get(key)[:-1])
    elif how == "torn manifest":
        commit = keys.ref(Kind.CHECKPOINTS, "run-1", step)
        store.put(commit, store.get(commit)[:50])


@pytest.mark.parametrize("how", ["missing object", "flipped bit", "short object", "torn manifest"])
def test_resume_falls_back_past_a_damaged_checkpoint_and_says_so(
    memory_store: Store, checkpointer: Callable[..., Checkpointer], notes: list[str], how: str
) -> None:
    first = checkpointer()
    for step in (1, 2):
        first.save(step, {"w": np.full(50, float(step))})
    first.close()
    damage(memory_store, 2, how)
    second = checkpointer()
    found = second.restore()
    assert found is not None
    assert found.step == 1
    np.testing.assert_array_equal(found.state["w"], np.ones(50))
    assert any("run-1:2 cannot be used" in note for note in notes)
    assert any("falls back to its checkpoint at step 1" in note for note in notes)
    # And the damaged step is written again when training comes by.
    second.save(2, {"w": np.full(50, 9.0)})
    assert second.wait() is not None
    third = checkpointer().restore()
    assert third is not None
    assert third.step == 2
    np.testing.assert_array_equal(third.state["w"], np.full(50, 9.0))


def test_resume_fails_loudly_where_every_checkpoint_is_damaged(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    first = checkpointer()
    for step in (1, 2):
        first.save(step, {"w": np.full(50, float(step))})
    first.close()
    for step in (1, 2):
        damage(memory_store, step, "flipped bit")
    with pytest.raises(DataDamaged, match="None of the checkpoints of run run-1 can be read"):
        checkpointer().restore()


def test_a_store_that_is_away_is_no_reason_to_fall_back(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    class Away(Store):
        def chunks(self, key: str) -> Iterator[memoryview]:
            raise Temporary("The store did not answer.")

    first = checkpointer()
    for step in (1, 2):
        first.save(step, {"w": np.ones(5)})
    first.close()
    with pytest.raises(Temporary):
        checkpointer(store=Away(memory_store.url, memory_store.backend)).restore()


def test_a_commit_that_was_lost_is_found_again_by_the_copy_beside_the_data(
    memory_store: Store, checkpointer: Callable[..., Checkpointer], notes: list[str]
) -> None:
    first = checkpointer()
    first.save(4, {"w": np.ones(50)})
    first.close()
    memory_store.delete(keys.ref(Kind.CHECKPOINTS, "run-1", 4))
    found = checkpointer().restore()
    assert found is not None
    assert found.step == 4
    assert any("The commit of run-1:4 was lost" in note for note in notes)
    assert [info.step for info in list_checkpoints("run-1", store=memory_store)] == [4]


def test_complete_data_without_a_commit_that_is_damaged_is_loud(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    first = checkpointer()
    first.save(4, {"w": np.ones(50)})
    first.close()
    damage(memory_store, 4, "missing object")
    memory_store.delete(keys.ref(Kind.CHECKPOINTS, "run-1", 4))
    with pytest.raises(DataDamaged, match="steps 4"):
        checkpointer().restore()


def test_data_of_an_attempt_killed_before_its_first_checkpoint_is_a_normal_start(
    memory_store: Store, checkpointer: Callable[..., Checkpointer], notes: list[str]
) -> None:
    memory_store.put(keys.checkpoint_object("run-1", "abcdef01", 1, 0, 0), b"half")
    assert checkpointer().restore() is None
    assert any("starts from its beginning" in note for note in notes)


def test_a_retry_writes_to_a_prefix_of_its_own(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    memory_store.put(keys.checkpoint_object("run-1", ATTEMPTS[1], 1, 0, 0), b"left by a killed attempt")
    first = checkpointer()
    first.save(1, {"w": np.ones(50)})
    first.close()
    info = list_checkpoints("run-1", store=memory_store)[0]
    assert info.attempt == ATTEMPTS[0]
    assert memory_store.get(keys.checkpoint_object("run-1", ATTEMPTS[1], 1, 0, 0)).startswith(b"left")


def test_a_store_in_memory_keeps_a_copy_of_what_it_is_given(memory_store: Store) -> None:
    data = bytearray(b"before")
    memory_store.put("key", memoryview(data))
    data[:] = b"after!"
    assert memory_store.get("key") == b"before"


def test_an_attempts_name_is_used_once(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    first = checkpointer()
    first.save(1, {"w": np.ones(3)})
    first.close()
    with pytest.raises(InputError, match=f"attempt {ATTEMPTS[0]} of run run-1 has written"):
        Checkpointer(store=memory_store, run="run-1", attempt=ATTEMPTS[0])


def test_waiting_ends_with_the_grace_period(
    memory_store: Store, checkpointer: Callable[..., Checkpointer]
) -> None:
    store = Faulty(memory_store)
    store.may_write.clear()
    first = checkpointer(store=store)
    first.save(1, {"w": np.ones(3)})
    with pytest.raises(Temporary, match="still in flight"):
        first.wait(timeout_s=0.05)
    store.may_write.set()
    info = first.wait()
    assert info is not None
    assert info.step == 1


def test_what_other_ranks_wrote_first_does_not_make_an_attempt_used(memory_store: Store) -> None:
    memory_store.put(keys.checkpoint_object("run-1", ATTEMPTS[0], 1, 1, 0), b"of rank 1")
    with Checkpointer(store=memory_store, run="run-1", attempt=ATTEMPTS[0]) as first:
        assert first.save(1, {"w": np.ones(3)})
