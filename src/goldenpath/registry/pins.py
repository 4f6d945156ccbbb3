"""Pinning: the champion of this moment, and whether a run would only repeat an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldenpath import refs
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import CONCLUSIVE, Outcome, RunRecord
from goldenpath.registry.alias_epochs import CHAMPION, aliases
from goldenpath.registry.versions import digest_id, hex_digest


@dataclass(frozen=True, kw_only=True)
class Pins:
    """What a run holds on to from its first step on."""

    champion: str
    """The champion's reference, with number and digest; empty where there is none."""
    champion_epoch: int
    """The epoch of the model's aliases in which it was so."""
    unchanged: bool
    """Whether the last conclusive run had the same code, data, configuration and image."""
    same_as: str
    """For ``unchanged``: that run."""


def pin(
    model: str,
    *,
    service: str,
    datasets: Mapping[str, str],
    source: str,
    run: RunRecord,
    journal: Journal,
    if_changed: bool,
) -> Pins:
    """Reads the champion, makes the run findable, and compares it with the last conclusive one.

    Args:
        model: The model's name.
        service: The service whose champion counts; empty for the one of the model's name.
        datasets: The dataset versions of the run, by digest.
        source: The snapshot of the working tree; empty where the image has the code.
        run: The run's record.
        journal: The records of the store.
        if_changed: Whether to compare at all.

    Raises:
        RefError: A dataset or the source has no digest.
    """
    inputs = {"model": model, "service": service, "datasets": datasets, "source": source}
    now = _ingredients(inputs, run, journal.store.url)
    held = aliases(model, store=journal.store)
    _index(model, now, run, journal)
    same_as = _same_run(now, model, run, journal) if if_changed else ""
    return Pins(
        champion=held.of(CHAMPION, service=service),
        champion_epoch=held.epoch,
        unchanged=bool(same_as),
        same_as=same_as,
    )


def _index(model: str, now: _Ingredients, run: RunRecord, journal: Journal) -> None:
    journal.add_to_index(IndexKind.MODEL, model, run.run)
    journal.add_to_index(IndexKind.SERVICE, now.service, run.run)
    for digest in now.datasets.values():
        journal.add_to_index(IndexKind.DATASET, digest_id(digest), run.run)
    if run.code.commit:
        journal.add_to_index(IndexKind.COMMIT, run.code.commit, run.run)


def _same_run(now: _Ingredients, model: str, run: RunRecord, journal: Journal) -> str:
    """The last conclusive run, if it was made of the same; else an empty string."""
    name = _last_conclusive(model, run.run, journal)
    record = journal.run(name) if name else None
    if record is None or not now.complete:
        return ""
    for step in journal.steps(name):
        if step.component == "run.pin":
            return name if _ingredients(step.inputs, record, journal.store.url) == now else ""
    return ""


def _last_conclusive(model: str, run: str, journal: Journal) -> str:
    for other in journal.runs_of(IndexKind.MODEL, model):
        end = journal.outcome(other) if other != run else None
        if end is None:
            continue
        if end.outcome in CONCLUSIVE:
            return other
        if end.outcome is Outcome.UNCHANGED:
            # Nothing conclusive lies between: it looked there itself.
            return end.same_as
    return ""


@dataclass(frozen=True, kw_only=True)
class _Ingredients:
    """All that decides what a run makes."""

    service: str
    datasets: Mapping[str, str]
    code: str
    config_digest: str
    image: str

    @property
    def complete(self) -> bool:
        """Whether enough is known to call another run the same; the image may hold the code."""
        return bool(self.config_digest and self.image)


def _ingredients(inputs: Mapping[str, Any], run: RunRecord, store: str) -> _Ingredients:
    """What a run is made of, from the inputs of its pin step and its record.

    Raises:
        RefError: A dataset or the source has no digest.
    """
    source = inputs["source"]
    return _Ingredients(
        service=inputs["service"] or inputs["model"],
        datasets={key: hex_digest(refs.parse(ref, store=store)) for key, ref in inputs["datasets"].items()},
        code=hex_digest(refs.parse(source, store=store)) if source else run.code.digest,
        config_digest=run.config_digest,
        image=run.image,
    )
