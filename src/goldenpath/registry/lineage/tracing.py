"""Tracing: a subject, the records of its run, and what of it still resolves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from goldenpath import refs
from goldenpath.errors import NotFound
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import StepRecord
from goldenpath.refs import Ref
from goldenpath.registry.alias_epochs import Aliases, alias_history, aliases
from goldenpath.registry.lineage.checks import checked
from goldenpath.registry.lineage.entries import Came, Entry, Trace
from goldenpath.registry.lineage.gathering import Records, entries, short
from goldenpath.registry.lineage.subjects import Subject, find_subject
from goldenpath.registry.transfer import in_parallel
from goldenpath.registry.versions import Version, digest_id, hex_digest, version
from goldenpath.store import Store

_CAME_OF = 100
"""Runs of a dataset or commit that are told; the newest are."""
_EPOCHS = 100
"""Moves of the aliases that are looked through for the promotion by another run; the newest are."""
_PROMOTION = "serving.promote"


def trace(asked: str, *, store: Store, verify: bool = False, trusted_key: Path | None = None) -> Trace:
    """Traces a thing to its origins, and a dataset or a commit to what came of it.

    Reads the records of one run and follows the index: nothing is listed that grows with the number of
    other runs.

    Args:
        asked: ``models:/NAME@ALIAS``, ``models:/NAME/3`` (the store's number), a reference, a model's or
            dataset's digest, a full commit, or a run.
        store: The store with the records.
        verify: Read again every byte that has a digest, instead of looking whether it is there.
        trusted_key: With ``verify``: the public key (PEM) that the model must be signed by.

    Raises:
        InputError: The text is nothing that can be traced.
        NotFound: No such thing is on record.
    """
    journal = Journal(store)
    subject = find_subject(asked, journal)
    if subject.kind in ("dataset", "commit"):
        found = _consequences(asked, subject, journal, verify=verify)
    else:
        found = _origins(asked, subject, journal, verify=verify)
    return checked(found, store=store, trusted_key=trusted_key)


def _origins(asked: str, subject: Subject, journal: Journal, *, verify: bool) -> Trace:
    run = journal.run(subject.run)
    if run is None:
        raise NotFound(
            f"The run {subject.run!r} is not on record in {journal.store.url}.",
            next_step="Only what a run made can be traced.",
        )
    steps = journal.steps(subject.run)
    model, known = subject.model or _made(steps), subject.version
    if known is None and model is not None and model.number is not None:
        known = version(model.name, model.number, store=journal.store)
    held = aliases(model.name, store=journal.store) if model else None
    records = Records(
        store=journal.store.url,
        run=run,
        end=journal.outcome(subject.run),
        steps=steps,
        origins={step.step: origin for step in steps if (origin := journal.origin(step)) is not None},
        promotion=_promotion(steps, model, held, journal),
        version=known,
        model=model,
    )
    return Trace(
        asked=asked,
        kind=subject.kind,
        verified=verify,
        aliases=_aliases(model, held),
        also_by=_also_by(known, subject.run, journal),
        **entries(records),
    )


def _made(steps: Sequence[StepRecord]) -> Ref | None:
    """The model of a run: registered, or only trained."""
    by_component = {step.component: step for step in steps}
    for component in ("registry.register", "training.launch"):
        if component in by_component and by_component[component].outputs.get("model"):
            return refs.parse(by_component[component].outputs["model"])
    return None


def _aliases(model: Ref | None, held: Aliases | None) -> tuple[str, ...]:
    if model is None or held is None:
        return ()
    return tuple(alias for alias, ref in held.refs.items() if refs.parse(ref).digest == model.digest)


def _promotion(
    steps: Sequence[StepRecord], model: Ref | None, held: Aliases | None, journal: Journal
) -> StepRecord | None:
    own = next((step for step in steps if step.component == _PROMOTION), None)
    if own is not None or model is None or model.number is None or held is None or not held.epoch:
        return own
    # Brought into service by another run: the aliases' history tells by which.
    for epoch in islice(alias_history(model.name, store=journal.store), _EPOCHS):
        if not epoch.run or str(model) not in epoch.aliases.values():
            continue
        for step in journal.steps(epoch.run):
            if step.component == _PROMOTION and step.inputs.get("model") == str(model):
                return step
    return None


def _also_by(known: Version | None, run: str, journal: Journal) -> tuple[str, ...]:
    if known is None:
        return ()
    runs = journal.runs_of(IndexKind.MODEL, digest_id(known.digest))
    return tuple(other for other in runs if other != run)


def _consequences(asked: str, subject: Subject, journal: Journal, *, verify: bool) -> Trace:
    kind = IndexKind.DATASET if subject.kind == "dataset" else IndexKind.COMMIT
    runs = journal.runs_of(kind, subject.thing)[:_CAME_OF]
    came = dict(in_parallel(lambda run: (run, _came(run, journal)), runs))
    told = Trace(asked=asked, kind=subject.kind, verified=verify, came_of=tuple(came[run] for run in runs))
    if subject.kind == "commit":
        return told.with_entries([("code", Entry(text=f"commit {subject.thing}"))])
    ref = subject.dataset or _dataset_of(subject.thing, runs, journal)
    return told.with_entries([("data", Entry(text=short(ref), uri=ref))])


def _came(run: str, journal: Journal) -> Came:
    made, end = _made(journal.steps(run)), journal.outcome(run)
    return Came(run=run, model=str(made) if made else "", outcome=end.outcome.value if end else "")


def _dataset_of(thing: str, runs: Sequence[str], journal: Journal) -> str:
    """The reference of a dataset of which only the digest is known."""
    for run in runs:
        for step in journal.steps(run):
            for ref in step.inputs.get("datasets", {}).values() if step.component == "run.pin" else ():
                if digest_id(hex_digest(refs.parse(ref, store=journal.store.url))) == thing:
                    return str(refs.parse(ref, store=journal.store.url))
    raise NotFound(f"The dataset {thing} is in the index, but no record names it.")
