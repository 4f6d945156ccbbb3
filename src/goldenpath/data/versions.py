"""Versions of a dataset: commit, resolve, list. A version exists from its one create-only write on."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldenpath.data.manifest import Hex, Stored, read_stored
from goldenpath.errors import DataDamaged, InputError, NotFound, RefError, Temporary
from goldenpath.provenance import Code
from goldenpath.refs import Kind, Ref, parse
from goldenpath.store import Store, keys, open_store

log = logging.getLogger(__name__)

_COMMIT_TRIES = 1000
_LOOK_BACK = 32
_READERS = 16


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """Where a version comes from: the run and step that took it, their code, and what they read."""

    run: str
    step: str
    code: Code
    inputs: tuple[str, ...] = ()
    """References of what the content was made from."""


class Version(BaseModel):
    """``refs/datasets/<name>/<n>.json``: one committed version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal[1] = Field(default=1, alias="schema")
    name: str
    number: int
    digest: Hex
    index: Hex
    files: int
    bytes: int
    parents: tuple[str, ...] = ()
    """The version that was the newest when this one was committed."""
    run: str = ""
    step: str = ""
    code: Code = Code()
    inputs: tuple[str, ...] = ()
    source: str = ""
    created_at: datetime
    attempt: str
    """Random: tells a commit whose reply was lost from another's."""

    def ref(self, store: Store) -> Ref:
        """The version's full reference."""
        return Ref(
            store=store.url, kind=Kind.DATASETS, name=self.name, number=self.number, digest=self.digest
        )


def numbers(name: str, *, store: Store) -> list[int]:
    """The numbers of a dataset's versions, ascending; empty where there is no such dataset."""
    return sorted(keys.number_of(entry.key) for entry in store.list(keys.refs(Kind.DATASETS, name)))


def read(name: str, number: int, *, store: Store) -> Version:
    """One version's record.

    Raises:
        NotFound: There is no such version.
        DataDamaged: The record is unreadable.
    """
    key = keys.ref(Kind.DATASETS, name, number)
    data = store.get_or_none(key)
    if data is None:
        found = numbers(name, store=store)
        raise NotFound(
            f"The dataset {name!r} has no version {number} in {store.url}.",
            next_step=f"It has {found[0]} to {found[-1]}." if found else f"There is no dataset {name!r}.",
        )
    try:
        version = Version.model_validate_json(data)
    except ValidationError as error:
        raise DataDamaged(f"{store.uri(key)} is unreadable: {error.errors()[0]['msg']}.") from None
    if (version.name, version.number) != (name, number):
        raise DataDamaged(f"{store.uri(key)} is the record of {version.name}:{version.number}.")
    return version


def latest(name: str, *, store: Store) -> Version | None:
    """The version with the highest number, or None."""
    found = numbers(name, store=store)
    return read(name, found[-1], store=store) if found else None


def history(name: str, *, store: Store) -> list[Version]:
    """All versions of a dataset, the newest first.

    Raises:
        NotFound: There is no such dataset.
    """
    found = numbers(name, store=store)
    if not found:
        raise _no_dataset(name, store)
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(lambda number: read(name, number, store=store), reversed(found)))


def names(*, store: Store) -> list[str]:
    """The names of all datasets of a store."""
    root = f"refs/{Kind.DATASETS.value}/"
    return sorted({entry.key.removeprefix(root).partition("/")[0] for entry in store.list(root)})


def store_of(ref: str, store: Store) -> tuple[Ref, Store]:
    """Parses a dataset's reference; a full one opens its own store, a short one means ``store``."""
    parsed = parse(ref, store=store.url, kind=Kind.DATASETS)
    return parsed, store if parsed.store == store.url else open_store(parsed.store)


def find(ref: str, *, store: Store) -> tuple[Version, Store]:
    """The record that a reference names, and the store that it is in.

    A reference with a digest and no number means the newest version with that content; one with
    neither means the newest version.

    Raises:
        RefError: The text is no dataset's reference, or its digest is not that of its number.
        NotFound: There is no such version.
    """
    parsed, place = store_of(ref, store)
    if parsed.number is not None:
        version = read(parsed.name, parsed.number, store=place)
        if parsed.digest not in (None, version.digest):
            raise RefError(
                f"{parsed.short} has the digest sha256:{version.digest}, not sha256:{parsed.digest}.",
                next_step="The digest is the authority: leave out the number, or correct it.",
            )
        return version, place
    if parsed.digest is None:
        newest = latest(parsed.name, store=place)
        if newest is None:
            raise _no_dataset(parsed.name, place)
        return newest, place
    for version in history(parsed.name, store=place):
        if version.digest == parsed.digest:
            return version, place
    raise NotFound(f"No version of {parsed.name!r} in {place.url} has the digest sha256:{parsed.digest}.")


def resolve(ref: str, *, store: Store) -> Ref:
    """The full reference, with number and digest, of what a reference names; see ``find``."""
    version, place = find(ref, store=store)
    return version.ref(place)


def open_version(ref: str, *, store: Store) -> tuple[Version, Stored]:
    """A version's record, manifest and index; see ``find``."""
    version, place = find(ref, store=store)
    return version, read_stored(place, version.digest, version.index)


@dataclass(frozen=True, slots=True)
class Recent:
    """The newest versions of a dataset, the newest first, and the highest number (0: none)."""

    number: int
    versions: tuple[Version, ...]

    @property
    def newest(self) -> Version | None:
        """The version with the highest number, if there is one and it can be read."""
        return next((version for version in self.versions if version.number == self.number), None)


def recent(name: str, *, store: Store) -> Recent:
    """Reads the newest 32 versions; one that is damaged is told and left out, and hinders no new one."""
    found = numbers(name, store=store)

    def read_one(number: int) -> Version | None:
        try:
            return read(name, number, store=store)
        except DataDamaged as error:
            log.warning("%s", error)
            return None

    if not found:
        return Recent(0, ())
    with ThreadPoolExecutor(_READERS) as pool:
        read_ones = pool.map(read_one, reversed(found[-_LOOK_BACK:]))
        return Recent(found[-1], tuple(version for version in read_ones if version is not None))


def commit(version: Version, *, store: Store, recent: Recent) -> tuple[Version, bool]:
    """Commits under the next free number: the only atomic step of a snapshot.

    If the newest version has the same content already, that one is returned; so is a version that an
    earlier try of the same run and step committed before it was killed.

    Args:
        version: What to commit; its number and parents are set here.
        store: The store.
        recent: What was there when the snapshot began.

    Returns:
        The version on record, and whether it is this run's own.
    """
    require_conditional_put(store)
    own = (version.run, version.step, version.digest)
    for earlier in recent.versions:
        if version.run and (earlier.run, earlier.step, earlier.digest) == own:
            return earlier, True
    number, newest = recent.number, recent.newest
    for _ in range(_COMMIT_TRIES):
        if newest is not None and newest.digest == version.digest:
            return newest, newest.attempt == version.attempt
        number += 1
        parents = () if newest is None else (str(newest.ref(store)),)
        version = version.model_copy(update={"number": number, "parents": parents})
        key = keys.ref(Kind.DATASETS, version.name, number)
        if store.create(key, version.model_dump_json(by_alias=True, indent=1).encode()):
            return version, True
        # Another was first, or it is ours and the reply was lost: the record tells.
        newest = read(version.name, number, store=store)
    raise Temporary(
        f"{version.name!r} is written by too many at once: {_COMMIT_TRIES} numbers were taken.",
        next_step="Try again.",
    )


@lru_cache(maxsize=64)
def require_conditional_put(store: Store) -> None:
    """Refuses a store that lets a second create replace the first: numbers would be lost there.

    Asked once a process and store.

    Raises:
        InputError: The store does not enforce it.
    """
    mark = json.dumps({"probe": "a second create of this object must be refused"}).encode()
    # The first create in a new store writes the mark; from then on one refused create is the answer.
    if store.create(keys.PROBE_CREATE, mark) and store.create(keys.PROBE_CREATE, mark):
        raise InputError(
            f"The store {store.url} does not enforce conditional writes (If-None-Match): two writers of a "
            "dataset could overwrite each other's version.",
            next_step="Use a store that does: AWS S3, GCS, Azure, SeaweedFS from 4.17, or a local folder.",
        )


def _no_dataset(name: str, store: Store) -> NotFound:
    known = names(store=store)
    return NotFound(
        f"There is no dataset {name!r} in {store.url}.",
        next_step=f"There are: {', '.join(known[:10])}." if known else "It holds no datasets yet.",
    )
