from __future__ import annotations

from datetime import UTC, datetime

import pytest

from goldenpath.errors import DataDamaged
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import ErrorRecord, Outcome, OutcomeRecord, RunRecord, StepRecord
from goldenpath.store import Store, keys

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def step(run: str, *, attempt: str = "00000000", key: str = "k", **outputs: str) -> StepRecord:
    return StepRecord(
        run=run, step="train", component="training.launch", key=key, attempt=attempt,
        inputs={}, outputs=outputs, started_at=NOW, finished_at=NOW,
    )  # fmt: skip


def test_the_first_commit_of_a_step_stays(memory_store: Store) -> None:
    journal = Journal(memory_store)
    first = journal.commit_step(step("r", attempt="11111111", model="one"), reusable=True)
    second = journal.commit_step(step("r", attempt="22222222", model="two"), reusable=True)
    assert first == second == journal.result("r", "train")


def test_a_run_is_begun_once(memory_store: Store) -> None:
    journal = Journal(memory_store)
    first = journal.begin(RunRecord(run="r", path="p", engine="local", started_at=NOW))
    assert journal.begin(RunRecord(run="r", path="other", engine="local", started_at=NOW)) == first


def test_the_first_outcome_stays(memory_store: Store) -> None:
    journal = Journal(memory_store)
    journal.finish(OutcomeRecord(run="r", outcome=Outcome.REFUSED, finished_at=NOW))
    late = journal.finish(OutcomeRecord(run="r", outcome=Outcome.PROMOTED, finished_at=NOW))
    assert late.outcome is Outcome.REFUSED


def test_work_is_found_by_its_key_only_once_it_has_a_result(memory_store: Store) -> None:
    journal = Journal(memory_store)
    # A process that died between the mark and the result.
    memory_store.create(keys.step_key("k", "dead"), b'{"run": "dead", "step": "train"}')
    assert journal.find("k") is None
    done = journal.commit_step(step("alive"), reusable=True)
    assert journal.find("k") == done


def test_work_that_is_not_reusable_is_not_found(memory_store: Store) -> None:
    journal = Journal(memory_store)
    journal.commit_step(step("r"), reusable=False)
    assert journal.find("k") is None


def test_a_failed_attempt_is_kept_and_ends_nothing(memory_store: Store) -> None:
    journal = Journal(memory_store)
    journal.start_step("r", "train", "11111111")
    journal.fail_step("r", "train", "11111111", ErrorRecord(code=5, type="UserProgramFailed", message="boom"))
    assert journal.result("r", "train") is None
    assert b"boom" in memory_store.get(keys.step_failed("r", "train", "11111111"))


def test_the_index_lists_the_newest_run_first(file_store: Store) -> None:
    journal = Journal(file_store)
    for run in ("a", "b", "c"):
        journal.add_to_index(IndexKind.MODEL, "digits", run)
    assert journal.runs_of(IndexKind.MODEL, "digits") == ["c", "b", "a"]
    assert journal.runs_of(IndexKind.MODEL, "other") == []


def test_a_damaged_record_is_told_with_its_address(memory_store: Store) -> None:
    memory_store.put(keys.run("r"), b"{")
    with pytest.raises(DataDamaged, match=r"runs/r/run\.json"):
        Journal(memory_store).run("r")
