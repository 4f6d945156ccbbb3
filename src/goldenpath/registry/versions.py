"""The numbers of a model: one create-only commit each, and what they answer for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldenpath import refs
from goldenpath.errors import DataDamaged, NotFound, RefError
from goldenpath.provenance import Code
from goldenpath.refs import Kind, Ref
from goldenpath.store import Store, keys, open_store


class Cost(BaseModel):
    """What the training cost, in units of ``currency``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    amount: float
    currency: str


class Version(BaseModel):
    """``refs/models/<name>/<n>.json``: a number, the digest it stands for, and the evidence it got it by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: int = Field(default=1, alias="schema")
    name: str
    number: int = Field(ge=1)
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    run: str
    """The run that registered it first."""
    evaluation: str
    """The document of its evaluation."""
    gate: str
    """The document of the gate's verdict."""
    verdict: str
    override: str = ""
    """The reason for registering in spite of the verdict."""
    datasets: dict[str, str] = {}
    """The dataset versions that the run trained on, by the names the code asked for."""
    checkpoint: str = ""
    queue: str = ""
    cost: Cost | None = None
    code: Code = Code()
    image: str = ""
    config_digest: str = ""
    registered_at: datetime

    def ref(self, store: str) -> str:
        """The full reference in the store at this URL: number and digest."""
        found = Ref(store=store, kind=Kind.MODELS, name=self.name, number=self.number, digest=self.digest)
        return str(found)


def names(*, store: Store) -> list[str]:
    """Every registered model's name, in order."""
    folder = keys.refs(Kind.MODELS, "").rstrip("/")
    return sorted({entry.key.removeprefix(folder + "/").partition("/")[0] for entry in store.list(folder)})


def versions(name: str, *, store: Store) -> Iterator[Version]:
    """Every version of a model, the newest first."""
    for number in reversed(numbers(name, store=store)):
        yield version(name, number, store=store)


def numbers(name: str, *, store: Store) -> list[int]:
    """The numbers that a model has, in order."""
    refs.check_name(name, Kind.MODELS)
    return sorted(keys.number_of(entry.key) for entry in store.list(keys.refs(Kind.MODELS, name)))


def version(name: str, number: int, *, store: Store) -> Version:
    """One version of a model.

    Raises:
        NotFound: There is none of this number.
        DataDamaged: Its record is unreadable, or that of another.
    """
    key = keys.ref(Kind.MODELS, refs.check_name(name, Kind.MODELS), number)
    data = store.get_or_none(key)
    if data is None:
        raise NotFound(
            f"The model {name!r} has no version {number} in {store.url}.",
            next_step=f"See `goldenpath model show {name}`.",
        )
    try:
        found = Version.model_validate_json(data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise DataDamaged(f"The version's record {store.uri(key)} is unreadable: {fault}.") from None
    if (found.name, found.number) != (name, number):
        raise DataDamaged(f"The record {store.uri(key)} is that of {found.name}:{found.number}.")
    return found


def resolve(ref: str, *, store: Store) -> Ref:
    """A model's reference with its digest: looked up by its number, where only that is given.

    Raises:
        RefError: The reference names neither number nor digest, or they contradict each other.
        NotFound: There is no version of that number.
    """
    found = refs.parse(ref, store=store.url, kind=Kind.MODELS)
    if found.number is None:
        hex_digest(found)
        return found
    digest = version(found.name, found.number, store=store_of(found, store)).digest
    if found.digest not in (None, digest):
        raise RefError(f"{ref!r} contradicts itself: {found.short} is sha256:{digest}.")
    return found.with_digest(digest)


def store_of(ref: Ref, store: Store) -> Store:
    """The store that a reference names: the given one, if it is that."""
    return store if ref.store == store.url else open_store(ref.store)


def hex_digest(ref: Ref) -> str:
    """A reference's digest, in hex.

    Raises:
        RefError: It has none.
    """
    if ref.digest is None:
        raise RefError(
            f"{str(ref)!r} names no version.",
            next_step="Add the number or the digest, as in models/digits:3.",
        )
    return ref.digest


def digest_id(hex_digest: str) -> str:
    """What a digest is called in the index of runs: no name can be written like it."""
    return f"sha256:{hex_digest}"
