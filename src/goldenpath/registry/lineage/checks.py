"""Whether what a trace names is still there, and whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from goldenpath.errors import DataDamaged, InputError, NotFound, Refused
from goldenpath.registry.lineage.entries import Entry, Trace
from goldenpath.registry.manifest import read_manifest
from goldenpath.registry.retrieval import verify as verify_model
from goldenpath.registry.transfer import in_parallel
from goldenpath.store import Store, get_document, open_store


@dataclass(frozen=True, kw_only=True)
class Look:
    """How to look: where, and how closely."""

    store: Store
    deep: bool
    """Whether every byte is read."""
    trusted_key: Path | None
    """The public key that models must be signed by; None asks for no signature."""


Check = Callable[[str, Look], None]
"""Raises where the thing at an address is missing or damaged."""


def checked(trace: Trace, *, store: Store, trusted_key: Path | None) -> Trace:
    """Looks up every entry that has an address; with ``trace.verified`` its bytes are read again."""
    found = list(trace.entries())
    how = Look(store=store, deep=trace.verified, trusted_key=trusted_key)

    def look(place: int) -> tuple[int, Entry]:
        name, entry = found[place]
        return place, _looked_up(name, entry, how)

    results = dict(in_parallel(look, range(len(found))))
    return trace.with_entries([(name, results[place]) for place, (name, _) in enumerate(found)])


def _looked_up(name: str, entry: Entry, how: Look) -> Entry:
    check = _CHECKS.get(name)
    if check is None or not entry.uri or (name == "code" and "/datasets/" not in entry.uri):
        return entry
    try:
        check(entry.uri, how)
    except (NotFound, DataDamaged, InputError, Refused) as error:
        return replace(entry, resolves=False, fault=error.message)
    return replace(entry, resolves=True)


def _model(uri: str, how: Look) -> None:
    if how.deep:
        verify_model(uri, store=how.store, trusted_key=how.trusted_key)
    else:
        read_manifest(uri, store=how.store)


def _dataset(uri: str, how: Look) -> None:
    from goldenpath import data

    if not how.deep:
        data.find(uri, store=how.store)
        return
    found = data.verify(uri, store=how.store, deep=True)
    if not found.ok:
        raise DataDamaged(f"{uri} is damaged: {found.damaged[0].object}: {found.damaged[0].fault}")


def _checkpoint(uri: str, how: Look) -> None:
    from goldenpath import checkpoint

    (checkpoint.verify if how.deep else checkpoint.resolve)(uri, store=how.store)


def _document(uri: str, _how: Look) -> None:
    # Reading a document compares it with its digest.
    get_document(uri)


def _object(uri: str, how: Look) -> None:
    inside = uri.startswith(how.store.url + "/")
    folder, _, name = uri.rpartition("/")
    place = how.store if inside else open_store(folder)
    key = uri.removeprefix(how.store.url + "/") if inside else name
    if place.head(key) is None:
        raise NotFound(f"There is no object {uri}.")
    marker = "/objects/sha256/"
    if how.deep and marker in uri:
        digest = hashlib.sha256(place.get(key)).hexdigest()
        if digest != uri.rpartition("/")[2]:
            raise DataDamaged(f"{uri} has the sha256 {digest}.")


_CHECKS: dict[str, Check] = {
    "model": _model,
    "code": _dataset,
    "data": _dataset,
    "config": _document,
    "checkpoints": _checkpoint,
    "evaluation": _document,
    "rows": _object,
    "gate": _document,
    "report": _object,
    "rollout": _object,
    "run": _object,
}
"""How each field's entries are looked up; the others have no address to look at."""
