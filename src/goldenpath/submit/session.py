"""One run on this machine: found or begun, locked, executed, concluded."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldenpath import data, progress
from goldenpath.errors import GoldenPathError, Temporary
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import (
    Outcome,
    OutcomeRecord,
    StepRecord,
    code_identity,
    image_identity,
    new_run,
)
from goldenpath.settings import Settings
from goldenpath.steps import RunContext, in_run
from goldenpath.store import open_store, put_document
from goldenpath.submit.pathfile import LoadedPath
from goldenpath.submit.result import PathResult, read_result

ENGINES: dict[str, str] = {
    "local": "goldenpath.submit.recipe",
    "kfp-local": "goldenpath.submit.kfp_local",
}
"""Engines of this machine: the module whose ``execute(path, context, if_changed=…)`` runs the path."""

_RECENT = 20
"""How many earlier runs of a configuration are looked at for one to go on with."""


def run_path(
    path: LoadedPath, *, settings: Settings, engine: str = "local", force: bool = False
) -> PathResult:
    """Runs a path on this machine and returns how it ended.

    A run that was killed goes on where it was: the newest unfinished run with the same configuration
    and the same sources is resumed.

    Args:
        path: The path and its configuration.
        settings: Where the store and the tracking server are.
        engine: One of ``ENGINES``.
        force: Run even if nothing changed, and do all work anew.

    Raises:
        Temporary: The same run is in progress in another process.
        GoldenPathError: A step failed; the run is on record as failed.
    """
    journal = Journal(open_store(settings.store))
    digest = path.config.digest()
    with _choose(journal, digest, settings) as run:
        context = RunContext(
            run=run,
            settings=settings,
            path=path.name,
            engine=engine,
            code=code_identity(path.folder),
            image=image_identity(settings.image),
            config=put_document(journal.store, path.config.model_dump(mode="json")),
            config_digest=digest,
            reuse=not force,
        )
        context.begin()
        journal.add_to_index(IndexKind.CONFIG, digest, run)
        execute: Callable[..., None] = importlib.import_module(ENGINES[engine]).execute
        try:
            with in_run(context):
                execute(path, context, if_changed=not force)
        except Temporary:
            # Unfinished on purpose: the same command goes on from here.
            raise
        except GoldenPathError as error:
            _conclude(journal, run, Outcome.FAILED, str(error))
            raise
        return read_result(journal, run)


@contextlib.contextmanager
def _choose(journal: Journal, digest: str, settings: Settings) -> Iterator[str]:
    """The run to go on with, or a new one; locked against other processes of this machine."""
    for run in journal.runs_of(IndexKind.CONFIG, digest)[:_RECENT]:
        if journal.outcome(run) is not None:
            continue
        with _locked(settings.state_dir / "runs" / run):
            changed = _changed_source(journal, run)
            if changed is None:
                progress.note(f"Going on with run {run}.")
                yield run
                return
            _conclude(journal, run, Outcome.CANCELLED, f"{changed} changed before the run could go on")
    run = new_run()
    with _locked(settings.state_dir / "runs" / run):
        yield run


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Temporary(
                f"The run {folder.name} is in progress in another process.",
                next_step="Wait for it, or change the configuration for a run of its own.",
            ) from None
        yield
    finally:
        # The kernel frees the lock with the descriptor, however this process ends.
        os.close(descriptor)


def _changed_source(journal: Journal, run: str) -> str | None:
    """A source whose content is no longer what the unfinished run took, or None.

    A user who stopped a run to mend the code must not get the old code's model.
    """
    for step in journal.steps(run):
        if step.component == "data.snapshot" and _taken_again(journal, step) != step.outputs["ref"]:
            return str(step.inputs["source"])
    return None


def _taken_again(journal: Journal, step: StepRecord) -> str:
    inputs: dict[str, Any] = step.inputs
    return data.snapshot(
        inputs["source"],
        inputs["name"],
        store=journal.store,
        options=data.SnapshotOptions.model_validate(inputs["options"]),
        lineage=data.Lineage(run=step.run, step=step.step, code=code_identity(Path.cwd())),
    ).ref


def _conclude(journal: Journal, run: str, outcome: Outcome, reason: str) -> None:
    journal.finish(OutcomeRecord(run=run, outcome=outcome, reason=reason, finished_at=datetime.now(UTC)))
