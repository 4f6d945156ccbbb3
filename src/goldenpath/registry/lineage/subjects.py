"""What a trace is asked for: from a text to a model, a run, a dataset or a commit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from goldenpath import refs
from goldenpath.errors import InputError, NotFound
from goldenpath.journal import IndexKind, Journal
from goldenpath.refs import Kind, Ref
from goldenpath.registry import tracked
from goldenpath.registry.versions import Version, digest_id, hex_digest, resolve, version

_DIGEST = re.compile(r"(?:sha256:)?(?P<hex>[0-9a-f]{64})")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SEARCHED = 200
"""Runs of a model that are looked through for one that was never registered."""

_SHAPES = (
    "Ask for models:/NAME@ALIAS, models:/NAME/3, a reference (models/NAME:3, datasets/NAME:3), "
    "a digest, a commit or a run."
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What was asked for. ``run`` is the run that made it; ``thing`` is its id in the index."""

    kind: str
    run: str = ""
    model: Ref | None = None
    version: Version | None = None
    thing: str = ""
    dataset: str = ""
    """The dataset's reference, where one was given."""


def find_subject(text: str, journal: Journal) -> Subject:
    """Finds what a text asks for.

    Raises:
        InputError: The text is nothing that can be traced.
        NotFound: There is no such thing in the store's records.
    """
    if text.startswith(tracked.PREFIX):
        return _by_reference(tracked.from_tracked(text, store=journal.store), journal)
    if found := _DIGEST.fullmatch(text):
        return _by_digest(found["hex"], journal)
    if "/" in text or ":" in text:
        return _by_reference(text, journal)
    if _COMMIT.fullmatch(text) and journal.runs_of(IndexKind.COMMIT, text):
        return Subject(kind="commit", thing=text)
    if re.fullmatch(r"[a-z0-9-]{1,40}", text):
        if journal.run(text) is None:
            raise NotFound(
                f"No run or commit {text!r} is on record in {journal.store.url}.", next_step=_SHAPES
            )
        return Subject(kind="run", run=text)
    raise InputError(f"{text!r} cannot be traced.", next_step=_SHAPES)


def _by_reference(text: str, journal: Journal) -> Subject:
    kind = None if "/" in text else Kind.MODELS
    ref = refs.parse(text, store=journal.store.url, kind=kind)
    if ref.store != journal.store.url:
        raise InputError(
            f"{text!r} is in another store than {journal.store.url}.",
            next_step=f"Set GOLDENPATH_STORE={ref.store}: runs are on record beside their models.",
        )
    if ref.kind is Kind.CHECKPOINTS:
        return Subject(kind="run", run=ref.name)
    if ref.kind is Kind.DATASETS:
        from goldenpath import data

        found, place = data.find(text, store=journal.store)
        return Subject(kind="dataset", thing=digest_id(found.digest), dataset=str(found.ref(place)))
    found_model = resolve(text, store=journal.store)
    if found_model.number is not None:
        known = version(found_model.name, found_model.number, store=journal.store)
        return _of_version(known, journal)
    return _of_digest(found_model, journal)


def _of_version(found: Version, journal: Journal) -> Subject:
    model = refs.parse(found.ref(journal.store.url))
    return Subject(kind="model", run=found.run, model=model, version=found)


def _by_digest(hex_: str, journal: Journal) -> Subject:
    for run in journal.runs_of(IndexKind.MODEL, digest_id(hex_)):
        for step in journal.steps(run):
            made = step.outputs.get("model") if step.component == "registry.register" else None
            if made and refs.parse(made).digest == hex_:
                return _by_reference(made, journal)
    if journal.runs_of(IndexKind.DATASET, digest_id(hex_)):
        return Subject(kind="dataset", thing=digest_id(hex_))
    raise NotFound(
        f"No model or dataset with the digest sha256:{hex_} is on record in {journal.store.url}.",
        next_step="For a model that was never registered, ask for models/NAME@sha256:… instead.",
    )


def _of_digest(model: Ref, journal: Journal) -> Subject:
    """A model by its digest alone: registered by one of its runs, or made by one and never registered."""
    digest = hex_digest(model)
    registered = journal.runs_of(IndexKind.MODEL, digest_id(digest))
    runs = registered or journal.runs_of(IndexKind.MODEL, model.name)[:_SEARCHED]
    for run in runs:
        for step in journal.steps(run):
            made = step.outputs.get("model")
            if step.component not in ("registry.register", "training.launch") or not made:
                continue
            found = refs.parse(made)
            if found.digest == digest and found.number is not None:
                return _of_version(version(found.name, found.number, store=journal.store), journal)
            if found.digest == digest and not registered:
                return Subject(kind="model", run=run, model=found)
    raise NotFound(
        f"None of the newest {_SEARCHED} runs of {model.name!r} made {model}.",
        next_step="Ask for its run, if you know it.",
    )
