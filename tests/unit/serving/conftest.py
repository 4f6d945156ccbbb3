"""A target in memory, and models in a registry, for driving rollouts without servers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from goldenpath import registry
from goldenpath.provenance import Code
from goldenpath.registry import Evidence
from goldenpath.serving.judge.samples import Arm
from goldenpath.serving.metrics.base import Unreadable
from goldenpath.serving.plan import Metric
from goldenpath.serving.targets import PromoterAtWork, Revision, Split
from goldenpath.store import Store, put_document


class Killed(BaseException):
    """Stands for a kill: nothing may catch it."""


@dataclass
class FakeTarget:
    """A service in memory. Each reading of counters finds ``per_read`` more requests, by the split."""

    url: str = "http://service"
    running: set[str] = field(default_factory=set)
    live: Split = field(default_factory=Split)
    broken: dict[str, str] = field(default_factory=dict)
    """Models that never get ready, by reference, with the reason."""
    bad_share: dict[str, float] = field(default_factory=dict)
    """The share of errors by revision name."""
    per_read: float = 1000.0
    held: bool = False
    kill_at: int = -1
    """The act at which the promoter is killed, counted from 0."""
    acts: list[str] = field(default_factory=list)
    counts: dict[str, list[float]] = field(default_factory=dict)
    on_read: Callable[[], None] = lambda: None

    def _act(self, name: str) -> None:
        if len(self.acts) == self.kill_at:
            self.kill_at = -1
            raise Killed
        self.acts.append(name)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        if self.held:
            raise PromoterAtWork("Another promoter is at work.")
        yield

    def deploy(self, revision: Revision) -> None:
        self._act(f"deploy {revision.name}")
        self.running.add(revision.name)

    def wait_ready(self, revision: Revision, *, within_s: float) -> str:
        return self.broken.get(revision.model, "")

    def ready(self, revision_name: str) -> bool:
        return revision_name in self.running

    def warm_up(self, revision: Revision, payload: bytes) -> str:
        self._act(f"warm up {revision.name}")
        assert json.loads(payload)
        return ""

    def split(self) -> Split:
        return self.live

    def route(self, split: Split) -> None:
        self._act("route")
        assert set(split.weights) <= self.running, "requests for a revision that does not run"
        self.live = split

    def retain(self, names: set[str]) -> None:
        self._act("retain")
        assert set(self.live.weights) <= names, "a revision that has requests is stopped"
        self.running &= names

    def source(self) -> FakeTarget:
        return self

    def read(self, revision_name: str, metrics: Sequence[Metric]) -> Arm:
        self.on_read()
        if revision_name not in self.running:
            raise Unreadable("it does not run")
        share = self.live.weights.get(revision_name, 0.0)
        if self.live.mirror == revision_name:
            share = self.live.mirror_percent
        kept = self.counts.setdefault(revision_name, [0.0, 0.0])
        grown = self.per_read * share / 100
        kept[0] += round(grown * self.bad_share.get(revision_name, 0.0))
        kept[1] += grown
        return Arm(requests=kept[1], metrics={metric.name: (kept[0], kept[1]) for metric in metrics})

    def stop(self) -> None:
        self._act("stop")
        self.running.clear()
        self.live = Split()


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget()


@pytest.fixture
def killed() -> type[BaseException]:
    return Killed


@pytest.fixture
def make_model(file_store: Store, tmp_path: Path) -> Callable[[str], str]:
    """Registers a model whose files hold the given text; the same text is the same model."""

    def make(text: str, *, name: str = "toy") -> str:
        folder = tmp_path / "models" / text
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MLmodel").write_text(text)
        (folder / "serving_input_example.json").write_text('{"inputs": [[1.0]]}')
        published = registry.publish(folder, name, store=file_store)
        evaluation = put_document(file_store, {"model": published})
        gate = put_document(file_store, {"verdict": "passed", "candidate": evaluation})
        evidence = Evidence(
            evaluation=evaluation, gate=gate, override="", run="r", code=Code(), image="", config_digest=""
        )
        return registry.register(published, name, evidence=evidence, store=file_store, tracking="").model

    return make
