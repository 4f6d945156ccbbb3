"""The manifest of a published model: which files, of what size, with which digests.

The model's digest is the sha256 of the canonical JSON list of ``{path, size, sha256}``, ordered by
path. It covers the published files alone: the same files are the same model, whatever was said about
them (metrics, framework, input example) when they were published.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from goldenpath import refs
from goldenpath.errors import DataDamaged, InputError, NotFound
from goldenpath.provenance import canonical_json, digest_of
from goldenpath.refs import Kind, Ref
from goldenpath.registry.versions import hex_digest, resolve, store_of
from goldenpath.store import Store, keys

MANIFEST = "manifest.json"
SIGNATURE = "model.sig"
RESERVED = frozenset({MANIFEST, SIGNATURE})
"""Names at the top of a model's folder that are not the model's own."""

_HEX = r"^[0-9a-f]{64}$"
_MAX_PATH_BYTES = 700
"""S3 allows 1,024 bytes a key; the rest is for the store's prefix, the name and the digest."""
_MAX_SEGMENT_BYTES = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STAGED = re.compile(r"#[0-9]+$")
"""Names that object stores on a file system keep for uploads that are under way."""


def path_fault(path: str) -> str:
    """What forbids a relative path in a model, in words; empty if nothing does."""
    segments = path.split("/")
    try:
        encoded = [segment.encode() for segment in segments]
    except UnicodeEncodeError:
        return "it is not UTF-8"
    rules = (
        (path.startswith("/"), "it is absolute"),
        (any(s in ("", ".", "..") for s in segments), "it has an empty, '.' or '..' segment"),
        ("\\" in path, "it holds a backslash"),
        (_CONTROL.search(path) is not None, "it holds a control character"),
        (any(_STAGED.search(s) for s in segments), "a name ends in '#' and digits"),
        (any(len(s) > _MAX_SEGMENT_BYTES for s in encoded), f"a name is over {_MAX_SEGMENT_BYTES} bytes"),
        (len(path.encode()) > _MAX_PATH_BYTES, f"it is over {_MAX_PATH_BYTES} bytes"),
        (path in RESERVED, "the name is kept for goldenpath's own file"),
    )
    return next((words for broken, words in rules if broken), "")


def _checked_path(path: str) -> str:
    fault = path_fault(path)
    if fault:
        raise ValueError(fault)
    return path


class File(BaseModel):
    """One published file. ``size`` in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Annotated[str, AfterValidator(_checked_path)]
    size: int = Field(ge=0)
    sha256: str = Field(pattern=_HEX)


class Manifest(BaseModel):
    """``models/<name>/sha256-<hex>/manifest.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: int = Field(default=1, alias="schema")
    name: str
    digest: str = Field(pattern=_HEX)
    files: tuple[File, ...] = Field(min_length=1)
    metadata: dict[str, JsonValue] = {}

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def prefix(self) -> str:
        """The key of the folder that holds the files, ending in '/'."""
        return keys.model_files(self.name, self.digest)

    def to_bytes(self) -> bytes:
        """The manifest as it is stored."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))


def digest_files(files: tuple[File, ...]) -> str:
    """The digest of a model with these files, in hex.

    Raises:
        InputError: There are none, or two of them cannot be side by side in a folder.
    """
    if not files:
        raise InputError("There are no files.", next_step="A model has one file at least.")
    paths = {file.path for file in files}
    if len(paths) != len(files):
        raise InputError("Two files have the same path.")
    for path in sorted(paths):
        parents = ("/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1))
        if clash := next((parent for parent in parents if parent in paths), ""):
            raise InputError(f"{clash!r} is a file and a folder at once.")
    return digest_of([file.model_dump() for file in sorted(files, key=lambda file: file.path)])


def read_manifest(ref: str, *, store: Store) -> Manifest:
    """Reads a model's manifest, and checks that it is the one of the model's digest.

    Args:
        ref: The model's reference, by digest or by number.
        store: The store that a short reference refers to.

    Raises:
        NotFound: There is no such model.
        DataDamaged: The manifest is not the one of the digest, or would write outside its folder.
    """
    return manifest_of(resolve(ref, store=store), store=store)


def manifest_of(found: Ref, *, store: Store) -> Manifest:
    """The manifest of a resolved reference; see ``read_manifest``."""
    where = store_of(found, store)
    digest = hex_digest(found)
    key = keys.model_files(found.name, digest) + MANIFEST
    data = where.get_or_none(key)
    if data is None:
        raise NotFound(
            f"There is no model {found}.", next_step="Its publication may not have ended: publish it again."
        )
    try:
        manifest = Manifest.model_validate_json(data)
        actual = digest_files(manifest.files)
    except (ValidationError, InputError) as error:
        reason = error.message if isinstance(error, InputError) else _first_fault(error)
        raise DataDamaged(f"The manifest {where.uri(key)} is not sound: {reason}") from None
    if (actual, manifest.digest, manifest.name) != (digest, digest, found.name):
        raise DataDamaged(
            f"The manifest {where.uri(key)} is of {manifest.name}@sha256:{actual}, not of its own folder."
        )
    return manifest


def check_model_name(name: str) -> str:
    """Returns the name, or raises RefError if a model cannot have it."""
    return refs.check_name(name, Kind.MODELS)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"]) or "the document"
    return f"{where} is {str(fault['input'])[:80]!r}: {fault['msg']}."
