"""Registering: a published model gets its number, if its evidence allows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldenpath import progress, refs
from goldenpath.errors import InputError, Refused
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import Code
from goldenpath.refs import Kind, Ref
from goldenpath.registry.manifest import check_model_name, manifest_of
from goldenpath.registry.mirror import Mirror
from goldenpath.registry.signature import sign
from goldenpath.registry.versions import (
    Cost,
    Version,
    digest_id,
    hex_digest,
    numbers,
    resolve,
    version,
)
from goldenpath.store import Store, get_document, keys

PASSED = "passed"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What speaks for a model: its evaluation, the gate's verdict, and the run that made it."""

    evaluation: str
    """The document of the evaluation."""
    gate: str
    """The document of the gate's verdict."""
    override: str
    """The reason for registering in spite of the verdict; empty for none."""
    run: str
    code: Code
    image: str
    config_digest: str


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A registered version."""

    model: str
    """The reference, with number and digest."""
    version: int
    tracking: str
    """MLflow's name for it, ``models:/<name>/<its number>``; empty without a tracking server."""


def register(
    model: str,
    name: str,
    *,
    evidence: Evidence,
    store: Store,
    tracking: str,
    signing_key: Path | None = None,
) -> Registered:
    """Gives a published model its number, and MLflow a copy of the entry.

    One digest has one number: registered again, by this run or by another that trained the same bytes,
    it keeps its first number and record; the other run is found by the index and answers by its own
    step's record. The commit in the store is what counts; MLflow's copy is made after it, and made good
    by running again.

    Args:
        model: The published model's reference, by digest.
        name: The registered name, which is the one it was published under.
        evidence: What speaks for it.
        store: The store of the registry.
        tracking: MLflow's address; empty for no copy there.
        signing_key: The file of a private key: the model is signed before it gets its number.

    Raises:
        Refused: The gate's verdict is not ``passed`` and no reason is given to override it, or the
            evidence is that of another model.
        InputError: The model is in another store, or was published under another name.
        Temporary: MLflow does not answer: the number is committed, and running again completes the copy.
    """
    check_model_name(name)
    found = resolve(model, store=store)
    if found.store != store.url:
        raise InputError(
            f"{model} is not in the registry's store {store.url}.", next_step="Publish it there."
        )
    if found.name != name:
        raise InputError(
            f"{model} was published as {found.name!r} and cannot be registered as {name!r}.",
            next_step=f"Register it as {found.name!r}, or publish it as {name!r}.",
        )
    manifest_of(found, store=store)
    verdict = _verdict(found, evidence)
    if signing_key is not None:
        sign(str(found), store=store, key=signing_key)
    committed = _commit(found, evidence, verdict, store)
    at_mlflow = ""
    if tracking:
        at_mlflow = f"models:/{name}/{Mirror(tracking).keep_version(committed, store=store.url)}"
    return Registered(model=committed.ref(store.url), version=committed.number, tracking=at_mlflow)


def mirror_versions(name: str, *, store: Store, tracking: str) -> int:
    """Makes MLflow's versions of a model again from the store's, in their order; returns how many."""
    mirror = Mirror(tracking)
    found = numbers(name, store=store)
    for number in found:
        mirror.keep_version(version(name, number, store=store), store=store.url)
    return len(found)


def _verdict(model: Ref, evidence: Evidence) -> str:
    """The gate's verdict on this model, or Refused."""
    gate, evaluation = get_document(evidence.gate), get_document(evidence.evaluation)
    verdict = _text(gate, "verdict", evidence.gate)
    candidate = _text(gate, "candidate", evidence.gate)
    judged = _text(evaluation, "model", evidence.evaluation)
    # Documents are known by their digests: the same one may be reached by two addresses.
    if candidate.rpartition("/")[2] != evidence.evaluation.rpartition("/")[2]:
        raise Refused(
            f"The gate {evidence.gate} judged {candidate}, not the evaluation {evidence.evaluation}."
        )
    if refs.parse(judged, store=model.store, kind=Kind.MODELS).digest != model.digest:
        raise Refused(f"The evaluation {evidence.evaluation} is of {judged}, not of {model}.")
    if verdict != PASSED:
        if not evidence.override.strip():
            raise Refused(
                f"The gate's verdict on {model.short}@sha256:{model.digest} is {verdict!r}, not {PASSED!r}.",
                next_step="Give a better model, or override with a reason, which is kept for ever.",
            )
        progress.note(f"{model.short}: registered in spite of {verdict!r}: {evidence.override}")
    return verdict


def _text(document: Any, key: str, uri: str) -> str:
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, str) or not value:
        raise Refused(f"The document {uri} has no {key!r}: missing evidence never passes.")
    return value


def _commit(model: Ref, evidence: Evidence, verdict: str, store: Store) -> Version:
    """Finds the number of this digest, or commits the next one.

    The order makes one number of any race. Whoever commits a digest has been in the digest's index
    before, and has read the last number before that. So who finds the index empty meets every rival's
    commit at the numbers it tries; who does not looks at all earlier commits first.
    """
    digest, journal = hex_digest(model), Journal(store)
    id_ = digest_id(digest)
    there = numbers(model.name, store=store)
    seen_before = bool(journal.runs_of(IndexKind.MODEL, id_))
    journal.add_to_index(IndexKind.MODEL, id_, evidence.run)
    if seen_before and (known := _find(digest, model.name, there, store)):
        return known
    number = there[-1] + 1 if there else 1
    facts = _training_facts(journal, evidence.run, digest)
    while True:
        mine = Version(
            name=model.name,
            number=number,
            digest=digest,
            run=evidence.run,
            evaluation=evidence.evaluation,
            gate=evidence.gate,
            verdict=verdict,
            override=evidence.override if verdict != PASSED else "",
            code=evidence.code,
            image=evidence.image,
            config_digest=evidence.config_digest,
            registered_at=datetime.now(UTC),
            **facts,
        )
        data = mine.model_dump_json(by_alias=True, indent=1).encode()
        if store.create(keys.ref(Kind.MODELS, model.name, number), data):
            return mine
        theirs = version(model.name, number, store=store)
        if theirs.digest == digest:
            return theirs
        number += 1


def _find(digest: str, name: str, among: list[int], store: Store) -> Version | None:
    with ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda number: version(name, number, store=store), reversed(among))
        return next((one for one in found if one.digest == digest), None)


def _training_facts(journal: Journal, run: str, digest: str) -> dict[str, Any]:
    """Datasets, checkpoint, queue and cost from the run's own records; what is not there is left out."""
    for step in journal.steps(run):
        made = step.outputs.get("model")
        if step.component != "training.launch" or not made or refs.parse(made).digest != digest:
            continue
        cost = step.outputs.get("cost")
        record = journal.run(run)
        return {
            "datasets": step.inputs.get("datasets", {}),
            "checkpoint": step.outputs.get("checkpoint") or "",
            "queue": step.inputs.get("job", {}).get("queue") or (record.queue if record else ""),
            "cost": Cost(amount=cost["amount"], currency=cost["currency"]) if cost else None,
        }
    return {}
