"""Pinning: the champion of the moment, and what counts as unchanged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from goldenpath import registry
from goldenpath.errors import RefError
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import Code, Outcome, OutcomeRecord, RunRecord, StepRecord
from goldenpath.registry import Pins
from goldenpath.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATA = {"train": f"datasets/digits:1@sha256:{'1' * 64}"}


@pytest.fixture
def journal(file_store: Store) -> Journal:
    return Journal(file_store)


def record(run: str, **fields: Any) -> RunRecord:
    given: dict[str, Any] = {
        "path": "p",
        "engine": "local",
        "code": Code(commit="c1", digest="d1"),
        "image": "sha256:i",
        "config_digest": "cfg",
        "started_at": NOW,
    }
    return RunRecord(run=run, **{**given, **fields})


@pytest.fixture
def ran(journal: Journal) -> Callable[..., Pins]:
    """Runs a path as far as its pin, as the component records it, and ends it."""

    def run(
        run_: RunRecord,
        outcome: Outcome | None = None,
        *,
        datasets: dict[str, str] | None = None,
        source: str = "",
        service: str = "",
    ) -> Pins:
        inputs = {"model": "digits", "datasets": datasets or DATA, "source": source, "service": service}
        journal.begin(run_)
        pins = registry.pin(
            "digits",
            service=service,
            datasets=datasets or DATA,
            source=source,
            run=run_,
            journal=journal,
            if_changed=True,
        )
        step = StepRecord(
            run=run_.run, step="any-name", component="run.pin", key="k", attempt="a",
            inputs={**inputs, "if_changed": True}, started_at=NOW, finished_at=NOW,
        )  # fmt: skip
        journal.commit_step(step, reusable=False)
        if outcome:
            end = OutcomeRecord(
                run=run_.run, outcome=outcome, same_as=pins.same_as, finished_at=NOW + timedelta(seconds=1)
            )
            journal.finish(end)
        return pins

    return run


@pytest.mark.parametrize("outcome", [Outcome.PROMOTED, Outcome.REFUSED, Outcome.ROLLED_BACK])
def test_the_same_again_is_unchanged_and_so_is_the_time_after(
    ran: Callable[..., Pins], outcome: Outcome
) -> None:
    assert ran(record("run-1"), outcome).unchanged is False
    second = ran(record("run-2"), Outcome.UNCHANGED)
    assert (second.unchanged, second.same_as) == (True, "run-1")
    assert ran(record("run-3")).same_as == "run-1"


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.CANCELLED, Outcome.NO_EVIDENCE, None])
def test_a_run_that_answered_nothing_is_not_compared_with(
    ran: Callable[..., Pins], outcome: Outcome | None
) -> None:
    ran(record("run-1"), outcome)
    assert ran(record("run-2")).unchanged is False


def test_a_failed_run_between_does_not_hide_the_answer(ran: Callable[..., Pins]) -> None:
    ran(record("run-1"), Outcome.PROMOTED)
    ran(record("run-2", config_digest="other"), Outcome.FAILED)
    assert ran(record("run-3")).same_as == "run-1"


def test_the_last_answer_counts_not_any_earlier_one(ran: Callable[..., Pins]) -> None:
    ran(record("run-1"), Outcome.PROMOTED)
    ran(record("run-2", config_digest="other"), Outcome.PROMOTED)
    assert ran(record("run-3")).unchanged is False


@pytest.mark.parametrize(
    "change",
    [{"config_digest": "new"}, {"image": "sha256:new"}, {"code": Code(commit="c1", dirty="x", digest="d2")}],
)
def test_a_change_of_config_image_or_code_is_a_change(
    ran: Callable[..., Pins], change: dict[str, Any]
) -> None:
    ran(record("run-1"), Outcome.PROMOTED)
    assert ran(record("run-2", **change)).unchanged is False


def test_a_change_of_data_or_service_is_a_change_a_new_number_is_not(ran: Callable[..., Pins]) -> None:
    ran(record("run-1"), Outcome.PROMOTED)
    renumbered = {"train": DATA["train"].replace(":1@", ":2@")}
    assert ran(record("run-2"), datasets=renumbered).unchanged is True
    assert ran(record("run-3"), service="digits").unchanged is True
    assert ran(record("run-4"), service="shop").unchanged is False
    assert ran(record("run-5"), datasets={"train": f"datasets/digits@sha256:{'2' * 64}"}).unchanged is False
    assert ran(record("run-6"), datasets={**DATA, "test": DATA["train"]}).unchanged is False


def test_a_source_snapshot_is_the_code(ran: Callable[..., Pins]) -> None:
    source = f"datasets/digits-source:1@sha256:{'5' * 64}"
    ran(record("run-1"), Outcome.PROMOTED, source=source)
    moved = record("run-2", code=Code(commit="c2", digest="d2"))
    assert ran(moved, source=source).unchanged is True
    assert ran(record("run-3"), source=source.replace("5" * 64, "6" * 64)).unchanged is False


@pytest.mark.parametrize("missing", ["image", "config_digest"])
def test_what_is_not_known_is_never_unchanged(ran: Callable[..., Pins], missing: str) -> None:
    ran(record("run-1", **{missing: ""}), Outcome.PROMOTED)
    assert ran(record("run-2", **{missing: ""})).unchanged is False


def test_a_run_is_found_by_what_it_pinned(ran: Callable[..., Pins], journal: Journal) -> None:
    ran(record("run-1"), service="shop")
    assert journal.runs_of(IndexKind.MODEL, "digits") == ["run-1"]
    assert journal.runs_of(IndexKind.SERVICE, "shop") == ["run-1"]
    assert journal.runs_of(IndexKind.COMMIT, "c1") == ["run-1"]
    assert journal.runs_of(IndexKind.DATASET, "sha256:" + "1" * 64) == ["run-1"]


def test_an_unpinned_dataset_is_refused(ran: Callable[..., Pins]) -> None:
    with pytest.raises(RefError, match="names no version"):
        ran(record("run-1"), datasets={"train": "datasets/digits"})


def test_without_a_champion_there_is_none_pinned(ran: Callable[..., Pins]) -> None:
    pins = ran(record("run-1"))
    assert (pins.champion, pins.champion_epoch) == ("", 0)
