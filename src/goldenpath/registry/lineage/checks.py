"""Whether what a trace names is still there, and whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from goldenpath.errors import DataDamaged, InputError, NotFound, Refused
from goldenpath.registry.lineage.entries import Entry, Trace
from goldenpath.registry.manifest import read_manifest
from goldenpath.registry.retrieval import verify as verify_model
from goldenpath.registry.transfer import in_parallel
from goldenpath.store import Store, get_document, open_store

Check = Callable[[str, Store, bool], None]
"""Raises where the thing at an address is missing or damaged; with True, every byte is read."""


def checked(trace: Trace, *, store: Store) -> Trace:
    """Looks up every entry that has an address; with ``trace.verified`` its bytes are read again."""
    found = list(trace.entries())

    def look(place: int) -> tuple[int, Entry]:
        name, entry = found[place]
        return place, _looked_up(name, entry, store, deep=trace.verified)

    results = dict(in_parallel(look, range(len(found))))
    return trace.with_entries([(name, results[place]) for place, (name, _) in enumerate(found)])


def _looked_up(name: str, entry: Entry, store: Store, *, deep: bool) -> Entry:
    check = _CHECKS.get(name)
    if check is None or not entry.uri or (name == "code" and "/datasets/" not in entry.uri):
        return entry
    try:
        check(entry.uri, store, deep)
    except (NotFound, DataDamaged, InputError, Refused) as error:
        return replace(entry, resolves=False, fault=error.message)
    return replace(entry, resolves=True)


def _model(uri: str, store: Store, deep: bool) -> None:
    if deep:
        verify_model(uri, store=store)
    else:
        read_manifest(uri, store=store)


def _dataset(uri: str, store: Store, deep: bool) -> None:
    from goldenpath import data

    if not deep:
        data.find(uri, store=store)
        return
    found = data.verify(uri, store=store, deep=True)
    if not found.ok:
        raise DataDamaged(f"{uri} is damaged: {found.damaged[0].object}: {found.damaged[0].fault}")


def _checkpoint(uri: str, store: Store, deep: bool) -> None:
    from goldenpath import checkpoint

    (checkpoint.verify if deep else checkpoint.resolve)(uri, store=store)


def _document(uri: str, _store: Store, _deep: bool) -> None:
    # Reading a document compares it with its digest.
    get_document(uri)


def _object(uri: str, store: Store, deep: bool) -> None:
    inside = uri.startswith(store.url + "/")
    base, _, key = (store.url, "", uri.removeprefix(store.url + "/")) if inside else uri.rpartition("/")
    place = store if inside else open_store(base)
    if place.head(key) is None:
        raise NotFound(f"There is no object {uri}.")
    marker = "/objects/sha256/"
    if deep and marker in uri:
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
