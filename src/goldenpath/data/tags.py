"""Tags: create-only names for versions."""

from __future__ import annotations

import json
from dataclasses import dataclass

from goldenpath.data.versions import find, resolve
from goldenpath.errors import NotFound, Refused
from goldenpath.refs import Kind, check_name
from goldenpath.store import Store, keys


@dataclass(frozen=True, kw_only=True)
class Tag:
    """A name and the version that it stands for, for ever."""

    tag: str
    ref: str


def tag(ref: str, name: str, *, store: Store) -> Tag:
    """Gives a version a name. The same again is no error; another version under that name is.

    Raises:
        RefError: The name is not allowed, or the reference is none of a dataset's.
        NotFound: There is no such version.
        Refused: The name stands for another version.
    """
    check_name(name, Kind.DATASETS)
    version, place = find(ref, store=store)
    key = keys.tag(Kind.DATASETS, version.name, name)
    wanted = Tag(tag=name, ref=str(version.ref(place)))
    record = json.dumps({"tag": name, "number": version.number, "digest": version.digest}).encode()
    if not place.create(key, record):
        there = tagged(version.name, name, store=place)
        if there != wanted:
            raise Refused(
                f"The tag {name!r} of {version.name!r} stands for {there.ref} already.",
                next_step="A tag never moves: choose another name.",
            )
    return wanted


def tagged(dataset: str, name: str, *, store: Store) -> Tag:
    """The version that a tag stands for.

    Raises:
        NotFound: There is no such tag.
    """
    data = store.get_or_none(keys.tag(Kind.DATASETS, dataset, name))
    if data is None:
        known = [found.tag for found in tags(dataset, store=store)]
        raise NotFound(
            f"The dataset {dataset!r} has no tag {name!r}.",
            next_step=f"It has: {', '.join(known)}." if known else "It has none.",
        )
    record = json.loads(data)
    full = resolve(f"{dataset}:{record['number']}@sha256:{record['digest']}", store=store)
    return Tag(tag=name, ref=str(full))


def tags(dataset: str, *, store: Store) -> list[Tag]:
    """All tags of a dataset by name."""
    found = sorted(
        entry.key.rpartition("/")[2].removesuffix(".json")
        for entry in store.list(keys.tags(Kind.DATASETS, dataset))
    )
    return [tagged(dataset, name, store=store) for name in found]
