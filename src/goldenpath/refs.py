"""References: one grammar for datasets, models and checkpoints, after OCI's.

    <store-url>/<kind>/<name>[:<number>][@sha256:<hex>]

    s3://lake/team-a/datasets/digits:7@sha256:9f86d0…    a version, pinned
    file:///home/ada/p/.goldenpath/store/models/digits:3 a version by its number
    checkpoints/run-1:400                                the configured store's

The number is for people, the digest is the authority. An input may leave out either; what a step
returns has the digest always, and the number as soon as one was committed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from goldenpath.errors import RefError

SCHEMES = ("file", "s3", "gs", "az", "memory")
"""Schemes of object stores that a reference may name."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?")
_RUN = re.compile(r"[a-z0-9-]{1,40}")
_HEX = re.compile(r"[0-9a-f]{64}")
_STORE_TEXT = re.compile(r"[^\s?#\x00-\x1f\x7f]*")
_MAX_NUMBER = 10**10 - 1


class Kind(StrEnum):
    """What a reference refers to; the word is the folder in the store."""

    DATASETS = "datasets"
    MODELS = "models"
    CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A parsed reference. ``digest`` is the bare hex of a sha256."""

    store: str
    kind: Kind
    name: str
    number: int | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        check_store_url(self.store)
        check_name(self.name, self.kind)
        if self.number is not None and not 0 <= self.number <= _MAX_NUMBER:
            raise RefError(f"The number {self.number} of {self.name!r} is outside 0..{_MAX_NUMBER}.")
        if self.digest is not None and not _HEX.fullmatch(self.digest):
            raise RefError(f"The digest {self.digest!r} is not 64 lower-case hexadecimal digits.")

    def __str__(self) -> str:
        return f"{self.store}/{self.kind.value}/{self.short}{f'@sha256:{self.digest}' if self.digest else ''}"

    @property
    def short(self) -> str:
        """``name:number`` for people, or the bare name."""
        return self.name if self.number is None else f"{self.name}:{self.number}"

    def with_digest(self, digest: str) -> Ref:
        """The same reference with its digest."""
        return replace(self, digest=digest)


def parse(text: str, *, store: str = "", kind: Kind | None = None) -> Ref:
    """Parses a reference.

    Args:
        text: A full reference; or ``kind/name…``, completed by ``store``; or, where ``kind`` is
            given too, ``name…`` alone.
        store: The store that a short form refers to.
        kind: The kind that is expected.

    Raises:
        RefError: The text is malformed, or of another kind than expected.
    """
    if not text:
        raise RefError("The reference is empty.", next_step=_shape(kind))
    head, name_part = text.rpartition("/")[::2]
    if not head and kind is not None:
        head = kind.value
    store_part, _, kind_part = head.rpartition("/")
    found = _kind(kind_part, text, expected=kind)
    if "://" not in store_part:
        if store_part:
            raise RefError(f"The store {store_part!r} of {text!r} has no scheme.", next_step=_schemes())
        if not store:
            raise RefError(f"The reference {text!r} names no store.", next_step=_shape(kind))
        store_part = store
    name, number, digest = _split_name(name_part, text)
    return Ref(store=store_part, kind=found, name=name, number=number, digest=digest)


def check_name(name: str, kind: Kind) -> str:
    """Returns the name, or raises RefError if a reference of this kind cannot carry it."""
    pattern, rule = (
        (_RUN, "1 to 40 of a-z, 0-9 and '-'")
        if kind is Kind.CHECKPOINTS
        else (_NAME, "1 to 128 of a-z, 0-9, '.', '_' and '-', with a letter or digit at both ends")
    )
    if not pattern.fullmatch(name):
        raise RefError(f"The name {name!r} is not allowed in {kind.value}.", next_step=f"A name is {rule}.")
    return name


def check_store_url(url: str) -> str:
    """Returns the URL of a store, or raises RefError saying which part is wrong."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise RefError(f"The store {url!r} has no known scheme.", next_step=_schemes())
    if not _STORE_TEXT.fullmatch(rest):
        raise RefError(
            f"The store {url!r} holds white space, a control character, '?' or '#'.",
            next_step="Percent-encode what a path needs.",
        )
    if "@" in rest.partition("/")[0]:
        # It would be in every reference and every record.
        raise RefError(
            f"The store {url!r} carries credentials.",
            next_step="Leave them out: they come from the environment's own chain.",
        )
    segments = (rest.removeprefix("/") if scheme == "file" else rest).split("/")
    if scheme == "file" and not rest.startswith("/"):
        raise RefError(f"The store {url!r} is not absolute.", next_step="Write file:///path.")
    if any(segment in ("", ".", "..") for segment in segments):
        raise RefError(f"The store {url!r} has an empty, '.' or '..' segment, or ends in '/'.")
    return url


def _kind(word: str, text: str, *, expected: Kind | None) -> Kind:
    try:
        found = Kind(word)
    except ValueError:
        allowed = ", ".join(kind.value for kind in Kind)
        raise RefError(
            f"The kind {word!r} of {text!r} is unknown.", next_step=f"It is one of {allowed}."
        ) from None
    if expected is not None and found is not expected:
        raise RefError(f"{text!r} is a reference to {found.value}.", next_step=_shape(expected))
    return found


def _split_name(part: str, text: str) -> tuple[str, int | None, str | None]:
    rest, at, digest_text = part.partition("@")
    digest: str | None = None
    if at:
        algorithm, _, digest = digest_text.partition(":")
        if algorithm != "sha256":
            raise RefError(
                f"The digest algorithm {algorithm!r} of {text!r} is unknown.", next_step="It is sha256."
            )
    name, colon, number_text = rest.partition(":")
    if not colon:
        return name, None, digest
    # Only the shortest decimal form, so that every reference has one spelling.
    if not re.fullmatch(r"0|[1-9][0-9]*", number_text, flags=re.ASCII):
        raise RefError(
            f"The number {number_text!r} of {text!r} is not a whole number.",
            next_step="A version is a number without leading zeros, as in name:3.",
        )
    return name, int(number_text), digest


def _shape(kind: Kind | None) -> str:
    return f"A reference is <store-url>/{kind.value if kind else '<kind>'}/<name>[:<number>][@sha256:<hex>]."


def _schemes() -> str:
    return f"A store begins with {', '.join(f'{scheme}://' for scheme in SCHEMES)}."
