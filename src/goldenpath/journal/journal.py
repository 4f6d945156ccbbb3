"""Runs, steps, outcomes and the index over them. Every commit is one create-only write."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from goldenpath.errors import DataDamaged
from goldenpath.provenance import ErrorRecord, OutcomeRecord, RunRecord, StepRecord
from goldenpath.store import Store, keys

R = TypeVar("R", bound=BaseModel)


class IndexKind(StrEnum):
    """What runs can be found by."""

    DATASET = "dataset"
    MODEL = "model"
    COMMIT = "commit"
    SERVICE = "service"
    CONFIG = "config"


class Journal:
    """The records of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def begin(self, record: RunRecord) -> RunRecord:
        """Records a run's start, or returns the record that is there already."""
        return self._commit(keys.run(record.run), record)

    def run(self, run: str) -> RunRecord | None:
        """A run's record, or None."""
        return self._read(keys.run(run), RunRecord)

    def finish(self, record: OutcomeRecord) -> OutcomeRecord:
        """Records a run's end, or returns the end that is there already."""
        return self._commit(keys.outcome(record.run), record)

    def outcome(self, run: str) -> OutcomeRecord | None:
        """A run's end, or None while it goes on."""
        return self._read(keys.outcome(run), OutcomeRecord)

    def start_step(self, run: str, step: str, attempt: str) -> None:
        """Marks that an attempt at a step began."""
        mark = {"run": run, "step": step, "attempt": attempt, "started_at": datetime.now(UTC).isoformat()}
        self.store.create(keys.step_started(run, step, attempt), json.dumps(mark).encode())

    def fail_step(self, run: str, step: str, attempt: str, error: ErrorRecord) -> None:
        """Keeps why an attempt failed; it does not end the step."""
        self.store.create(keys.step_failed(run, step, attempt), _bytes(error))

    def failures(self, run: str) -> dict[str, ErrorRecord]:
        """Why attempts at steps of a run failed, by the record's key, in the order of time."""
        entries = [entry for entry in self.store.list(keys.steps(run)) if "/failed-" in entry.key]
        found: dict[str, ErrorRecord] = {}
        for entry in sorted(entries, key=lambda e: (e.modified, e.key)):
            record = self._read(entry.key, ErrorRecord)
            if record is not None:
                found[entry.key] = record
        return found

    def result(self, run: str, step: str) -> StepRecord | None:
        """A step's result, or None while there is none."""
        return self._read(keys.step_result(run, step), StepRecord)

    def commit_step(self, record: StepRecord, *, reusable: bool) -> StepRecord:
        """Commits a step's result; if another attempt was first, returns its result instead."""
        if reusable:
            # Before the result: a mark without a result is ignored, a result without a mark is lost work.
            mark = json.dumps({"run": record.run, "step": record.step}).encode()
            self.store.create(keys.step_key(record.key, record.run), mark)
        return self._commit(keys.step_result(record.run, record.step), record)

    def find(self, key: str) -> StepRecord | None:
        """The newest result that any run has for a step key, or None."""
        for entry in sorted(self.store.list(keys.step_keys(key)), key=lambda e: e.modified, reverse=True):
            mark = json.loads(self.store.get(entry.key))
            found = self.result(mark["run"], mark["step"])
            if found is not None:
                return found
        return None

    def origin(self, record: StepRecord) -> StepRecord | None:
        """The record of the work behind an adopted result; None for a step that did its own."""
        if not record.reused_from:
            return None
        mark = self.store.get_or_none(keys.step_key(record.key, record.reused_from))
        return self.result(record.reused_from, json.loads(mark)["step"]) if mark else None

    def steps(self, run: str) -> list[StepRecord]:
        """Every finished step of a run, in the order of their ends."""
        names = {
            entry.key.removeprefix(keys.steps(run)).partition("/")[0]
            for entry in self.store.list(keys.steps(run))
            if entry.key.endswith("/result.json")
        }
        found = [record for name in names if (record := self.result(run, name)) is not None]
        return sorted(found, key=lambda record: record.finished_at)

    def add_to_index(self, kind: IndexKind, id_: str, run: str) -> None:
        """Makes a run findable by a thing that it touched; names may hold any character but '/'."""
        self.store.create(keys.index(kind.value, id_) + run, b"")

    def runs_of(self, kind: IndexKind, id_: str) -> list[str]:
        """The runs that touched a thing, the newest first."""
        entries = sorted(
            self.store.list(keys.index(kind.value, id_)), key=lambda e: (e.modified, e.key), reverse=True
        )
        return [entry.key.rpartition("/")[2] for entry in entries]

    def _commit(self, key: str, record: R) -> R:
        if self.store.create(key, _bytes(record)):
            return record
        kept = self._read(key, type(record))
        return record if kept is None else kept

    def _read(self, key: str, kind: type[R]) -> R | None:
        data = self.store.get_or_none(key)
        if data is None:
            return None
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            raise DataDamaged(
                f"The record {self.store.uri(key)} is unreadable: {error.error_count()} faults, "
                f"first {error.errors()[0]['msg']!r}."
            ) from None


def _bytes(record: BaseModel) -> bytes:
    return record.model_dump_json(by_alias=True, indent=1).encode()
