"""A store with runs in it, as the components record them: real data, checkpoint and model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldenpath import data, registry
from goldenpath.checkpoint import Checkpointer, list_checkpoints
from goldenpath.data import Lineage, SnapshotOptions
from goldenpath.journal import Journal
from goldenpath.provenance import Code, Outcome, OutcomeRecord, RunRecord, StepRecord, digest_of
from goldenpath.registry import Evidence
from goldenpath.store import Store, keys, put_document

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COMMIT = "c" * 40


@dataclass
class World:
    """Records runs of one path into a store."""

    store: Store
    folder: Path
    made: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each run: what it made, by a short name."""

    @property
    def journal(self) -> Journal:
        return Journal(self.store)

    def dataset(self, name: str, content: str) -> str:
        source = self.folder / f"{name}-{content}"
        source.mkdir(exist_ok=True)
        (source / "rows.csv").write_text(content)
        lineage = Lineage(run="r", step="snapshot", code=Code())
        return data.snapshot(
            str(source), name, store=self.store, options=SnapshotOptions(), lineage=lineage
        ).ref

    def model(self, content: str) -> str:
        folder = self.folder / f"model-{content}"
        folder.mkdir(exist_ok=True)
        (folder / "model.bin").write_text(content)
        return registry.publish(folder, "digits", store=self.store, metadata={"accuracy": 0.9})

    def checkpoint(self, run: str) -> str:
        with Checkpointer(store=self.store, run=run, attempt="0000000a") as saver:
            saver.save(40, {"w": np.arange(4)})
        (found,) = list_checkpoints(run, store=self.store)
        return found.ref

    def step(self, run: str, name: str, component: str, inputs: Any, outputs: Any, **more: Any) -> None:
        at = NOW + timedelta(minutes=len(self.made.setdefault(run, {})))
        self.made[run][f"step-{name}"] = name
        self.journal.commit_step(
            StepRecord(
                run=run, step=name, component=component, attempt="a", inputs=inputs, outputs=outputs,
                started_at=at, finished_at=at + timedelta(seconds=30),
                **{"key": digest_of([run, name]), **more},
            ),
            reusable=component in ("training.launch", "evaluation.evaluate"),
        )  # fmt: skip

    def run(
        self,
        run: str,
        content: str,
        *,
        promoted: bool = True,
        verdict: str = "passed",
        override: str = "",
        adopted_from: str = "",
    ) -> dict[str, str]:
        """One whole run of the path; gives what it made by the trace's names."""
        train, test = self.dataset("digits-train", "rows"), self.dataset("digits-test", "held out")
        source = self.dataset("digits-source", "code")
        model = self.model(content)
        config = put_document(self.store, {"path": "train-to-serve"})
        record = RunRecord(
            run=run, path="train-to-serve", engine="local", queue="team-a", image="sha256:image",
            code=Code(repository="https://host/team/digits", commit=COMMIT, digest="d"),
            config=config, config_digest=config.rpartition("/")[2], started_at=NOW,
        )  # fmt: skip
        self.journal.begin(record)
        champion = registry.aliases("digits", store=self.store).of("champion")
        datasets = {"train": train, "test": test}
        pinned = {"model": "digits", "datasets": datasets, "source": source, "service": ""}
        registry.pin(
            "digits", service="", datasets=datasets, source=source, run=record,
            journal=self.journal, if_changed=False,
        )  # fmt: skip
        self.step(run, "pin", "run.pin", pinned, {"champion": champion})
        made_by = adopted_from or run
        checkpoint = self.made[made_by]["checkpoints"] if adopted_from else self.checkpoint(run)
        self.step(
            run, "fit", "training.launch",
            {"job": {"queue": "team-a"}, "model": "digits", "datasets": {"train": train}, "source": source},
            {"model": model, "checkpoint": checkpoint, "metrics": {"loss": 0.1}, "queued_s": 12.0,
             "running_s": 60.0, "accelerator_hours": 0.5, "cost": {"amount": 1.25, "currency": "EUR"},
             "logs": ["file:///log"]},
            key=digest_of(["fit", made_by]), reused_from=adopted_from,
        )  # fmt: skip
        rows = keys.object_(digest_of("scores"))
        self.store.put(rows, b'"scores"')
        evaluation = put_document(self.store, {"model": model, "metrics": {"accuracy": 0.9}, "run": run})
        self.step(
            run, "evaluate-it", "evaluation.evaluate", {"model": model, "dataset": test},
            {"evaluation": evaluation, "model": model, "dataset": test, "rows": self.store.uri(rows),
             "metrics": {"accuracy": 0.9}, "n": 100, "evaluator": "digits:evaluate"},
        )  # fmt: skip
        gate = put_document(self.store, {"verdict": verdict, "candidate": evaluation})
        report = keys.step_folder(run, "gate") + "report.html"
        self.store.put(report, b"<html>")
        self.step(
            run, "gate", "evaluation.gate", {"candidate": evaluation, "champion": ""},
            {"verdict": verdict, "summary": "accuracy is over its floor.", "gate": gate,
             "report": self.store.uri(report)},
        )  # fmt: skip
        made = {
            "model": model, "config": config, "evaluation": evaluation, "gate": gate, "code": source,
            "report": self.store.uri(report), "rows": self.store.uri(rows), "checkpoints": checkpoint,
            "train": train, "test": test, "run": self.store.uri(keys.run(run)),
        }  # fmt: skip
        self.made[run].update(made)
        if verdict != "passed" and not override:
            return self._end(run, Outcome.REFUSED)
        evidence = Evidence(
            evaluation=evaluation, gate=gate, override=override, run=run, code=record.code,
            image=record.image, config_digest=record.config_digest,
        )  # fmt: skip
        done = registry.register(model, "digits", evidence=evidence, store=self.store, tracking="")
        self.made[run]["model"] = done.model
        self.step(
            run, "register", "registry.register",
            {"model": model, "name": "digits", "evaluation": evaluation, "gate": gate, "override": override},
            {"model": done.model, "version": done.version, "tracking": "models:/digits/1"},
        )  # fmt: skip
        if not promoted:
            return self._end(run, Outcome.REGISTERED)
        self.promote(run, done.model, champion)
        return self._end(run, Outcome.PROMOTED)

    def promote(self, run: str, model: str, champion: str) -> None:
        number = len([e for e in self.store.list(keys.rollouts("digits")) if e.key.endswith(".json")]) + 1
        rollout = keys.rollout("digits", number)
        self.store.put(rollout, b"{}")
        registry.move_alias(
            "digits", {"champion": model}, expected_champion=champion, store=self.store, tracking="", run=run
        )
        self.made.setdefault(run, {})["rollout"] = self.store.uri(rollout)
        self.step(
            run, "promote", "serving.promote", {"model": model, "service": "digits"},
            {"outcome": "promoted", "reason": "no harm was seen.", "rollout": self.store.uri(rollout),
             "url": "http://127.0.0.1:1", "champion": model},
        )  # fmt: skip

    def _end(self, run: str, outcome: Outcome) -> dict[str, str]:
        self.journal.finish(OutcomeRecord(run=run, outcome=outcome, finished_at=NOW + timedelta(hours=1)))
        return self.made[run]


@pytest.fixture
def world(file_store: Store, tmp_path: Path) -> World:
    folder = tmp_path / "sources"
    folder.mkdir()
    return World(file_store, folder)


@pytest.fixture
def run(world: World) -> Callable[..., dict[str, str]]:
    return world.run
