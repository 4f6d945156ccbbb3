"""The client: whole objects and ranges, create-only writes, listings; over obstore.

Small on purpose: what a caller gets is the same over ``file://``, ``s3://``, ``gs://``, ``az://`` and
``memory://``, and every fault is one of this library's errors.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import obstore
from obstore import exceptions as faults
from obstore.store import LocalStore, MemoryStore, S3Store, from_url

from goldenpath.errors import DataDamaged, GoldenPathError, InputError, NotFound, Temporary
from goldenpath.refs import check_store_url

T = TypeVar("T")

_RETRY: Any = {
    "max_retries": 5,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=8), "base": 2},
}
_CLIENT: Any = {"timeout": timedelta(seconds=120), "connect_timeout": timedelta(seconds=10)}
_CREATE_TRIES = 5
_CHUNK_SIZE = 4 * 2**20
_PART = 8 << 20
_MAX_PARTS = 9_000
_PARTS_IN_FLIGHT = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a listing. ``size`` in bytes."""

    key: str
    size: int
    modified: datetime
    etag: str


class Store:
    """A store at a URL. Keys are relative to it; safe to share between threads."""

    def __init__(self, url: str, backend: Any) -> None:
        self.url = url
        self.backend = backend
        """The obstore object, for code that needs its asynchronous calls."""

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    def uri(self, key: str) -> str:
        """The full address of a key."""
        return f"{self.url}/{key}"

    def put(self, key: str, data: bytes | memoryview | Path) -> None:
        """Writes an object, replacing what was there. Bytes go in one request, a large file in parts."""
        parts = None if isinstance(data, Path) else False
        content = self._owned(data)
        self._call(key, lambda: obstore.put(self.backend, key, content, use_multipart=parts))

    def create(self, key: str, data: bytes | memoryview | Path) -> bool:
        """Writes an object only if there is none: True if this call wrote it, False if it existed.

        A False after a lost reply may be this caller's own write: where that matters, read it back.
        """
        content = self._owned(data)
        for attempt in range(_CREATE_TRIES):
            try:
                self._call(key, lambda: obstore.put(self.backend, key, content, mode="create"))
            except (faults.AlreadyExistsError, faults.PreconditionError):
                return False
            except _Conflict:
                # S3 answers 409 where two creates race and neither is decided yet: ask again.
                time.sleep(0.05 * 2**attempt)
            else:
                return True
        raise Temporary(f"{self.uri(key)} is being written by too many at once.", next_step="Try again.")

    def put_stream(self, key: str, pieces: Iterable[bytes], *, size: int) -> None:
        """Writes a large object piece by piece, replacing what was there.

        The object appears with its last piece: where ``pieces`` raises, there is none.

        Args:
            key: The object's key.
            pieces: The content.
            size: The bytes in all; it decides the size of S3's parts, of which there are at most 10,000.
        """
        part = max(_PART, size // _MAX_PARTS + 1)
        self._call(
            key,
            lambda: obstore.put(
                self.backend, key, iter(pieces), chunk_size=part, max_concurrency=_PARTS_IN_FLIGHT
            ),
        )

    def get(self, key: str) -> bytes:
        """Reads a whole object.

        Raises:
            NotFound: There is none.
        """
        return self._call(key, lambda: bytes(obstore.get(self.backend, key).bytes()))

    def view(self, key: str) -> memoryview:
        """Reads a whole object without the copy that ``get`` makes.

        Raises:
            NotFound: There is none.
        """
        return self._call(key, lambda: memoryview(obstore.get(self.backend, key).bytes()))

    def chunks(self, key: str) -> Iterator[memoryview]:
        """Reads a whole object piece by piece as it arrives, so that it is never in memory as a whole.

        Raises:
            NotFound: There is none.
        """
        stream = self._call(
            key, lambda: iter(obstore.get(self.backend, key).stream(min_chunk_size=_CHUNK_SIZE))
        )
        while (chunk := self._call(key, lambda: next(stream, None))) is not None:
            yield memoryview(chunk)

    def get_or_none(self, key: str) -> bytes | None:
        """Reads a whole object, or returns None where there is none."""
        try:
            return self.get(key)
        except NotFound:
            return None

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Reads ``length`` bytes from ``start``; a shorter object raises DataDamaged."""
        if length == 0:
            return b""
        data = self._call(
            key, lambda: bytes(obstore.get_range(self.backend, key, start=start, length=length))
        )
        if len(data) != length:
            raise DataDamaged(f"{self.uri(key)} ends early: {len(data)} of {length} bytes at {start}.")
        return data

    def head(self, key: str) -> Entry | None:
        """The size and time of an object, or None where there is none."""
        try:
            return _entry(self._call(key, lambda: obstore.head(self.backend, key)))
        except NotFound:
            return None

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """All objects under a folder, in the store's own order (never rely on it)."""
        pages = self._call(prefix, lambda: iter(obstore.list(self.backend, prefix.rstrip("/") or None)))
        while True:
            try:
                page = self._call(prefix, lambda: next(pages, None))
            except NotFound:
                return
            if page is None:
                return
            for meta in page:
                yield _entry(meta)

    def delete(self, keys: str | Iterable[str]) -> None:
        """Deletes objects; those that are gone already are no error."""
        for key in [keys] if isinstance(keys, str) else keys:
            try:
                self._call(key, functools.partial(obstore.delete, self.backend, key))
            except NotFound:
                continue

    def _owned(self, data: bytes | memoryview | Path) -> bytes | memoryview | Path:
        # A store in memory would keep the caller's memory itself, and change with it.
        return bytes(data) if isinstance(data, memoryview) and isinstance(self.backend, MemoryStore) else data

    def _call(self, key: str, act: Callable[[], T]) -> T:
        try:
            return act()
        except (faults.AlreadyExistsError, faults.PreconditionError):
            raise
        except (FileNotFoundError, faults.NotFoundError):
            raise NotFound(f"There is no object {self.uri(key)}.") from None
        except (faults.PermissionDeniedError, faults.UnauthenticatedError, PermissionError) as error:
            raise InputError(
                f"The store {self.url} does not let us at {key!r}: {_first_line(error)}",
                next_step="Check the credentials in the environment and the bucket's policy.",
            ) from error
        except (faults.BaseError, OSError, ValueError) as error:
            raise _translated(self.uri(key), error) from error


class _Conflict(GoldenPathError):
    """A create that raced with another and was not decided."""


def _translated(uri: str, error: Exception) -> GoldenPathError:
    text = str(error)
    if "409" in text and "Conflict" in text:
        return _Conflict(text)
    if "No such bucket" in text or "NoSuchBucket" in text:
        return NotFound(f"The bucket of {uri} does not exist.")
    if "No space left" in text:
        return Temporary(f"The store's disk is full at {uri}.", next_step="Free some space, then try again.")
    return Temporary(f"The store did not answer for {uri}: {_first_line(error)}", next_step="Try again.")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _entry(meta: Any) -> Entry:
    return Entry(meta["path"], meta["size"], meta["last_modified"], meta["e_tag"] or "")


@functools.lru_cache(maxsize=64)
def open_store(url: str) -> Store:
    """Opens the store at a URL; the same URL gives the same client.

    Credentials come from the environment: boto3's chain for ``s3://`` (with ``AWS_ENDPOINT_URL`` for
    other S3 servers), the cloud's own for ``gs://`` and ``az://``. A ``memory://`` store lives as long
    as this process.

    Raises:
        RefError: The URL is malformed.
        InputError: The folder cannot be made, or no credentials are found.
    """
    url = check_store_url(url.rstrip("/"))
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Store(url, _local(unquote(parts.path)))
    if parts.scheme == "memory":
        return Store(url, MemoryStore())
    if parts.scheme == "s3":
        return Store(url, _s3(parts.netloc, parts.path.strip("/")))
    return Store(url, from_url(url, client_options=_CLIENT, retry_config=_RETRY))


def _local(folder: str) -> LocalStore:
    try:
        return LocalStore(folder, mkdir=True)
    except (OSError, faults.BaseError) as error:
        raise InputError(
            f"The store folder {folder} cannot be made: {_first_line(error)}",
            next_step="Name a folder you may write to (GOLDENPATH_STORE).",
        ) from error


def _s3(bucket: str, prefix: str) -> S3Store:
    found = _aws_from_environment() or _aws_from_boto3(bucket)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: Any = dict(_CLIENT)
    if endpoint:
        found["config"]["endpoint"] = endpoint
        options["allow_http"] = endpoint.startswith("http://")
    return S3Store(bucket, prefix=prefix or None, client_options=options, retry_config=_RETRY, **found)


def _aws_from_environment() -> dict[str, Any]:
    """Keys and region where the environment has both: the head of boto3's chain, without its 0.5 s."""
    names = {
        "access_key_id": "AWS_ACCESS_KEY_ID",
        "secret_access_key": "AWS_SECRET_ACCESS_KEY",
        "region": "AWS_REGION" if os.environ.get("AWS_REGION") else "AWS_DEFAULT_REGION",
    }
    config = {name: os.environ.get(variable, "") for name, variable in names.items()}
    if not all(config.values()):
        return {}
    if token := os.environ.get("AWS_SESSION_TOKEN"):
        config["session_token"] = token
    return {"config": config}


def _aws_from_boto3(bucket: str) -> dict[str, Any]:
    """The rest of the chain: profiles, single sign-on, a pod's role, an instance's."""
    import boto3
    import botocore.exceptions
    from obstore.auth.boto3 import Boto3CredentialProvider

    session = boto3.Session()
    try:
        provider = Boto3CredentialProvider(session)
    except (botocore.exceptions.BotoCoreError, ValueError) as error:
        raise InputError(
            f"No credentials for s3://{bucket} were found: {_first_line(error)}",
            next_step="Log in, or give the pod's service account a role.",
        ) from error
    return {"config": {"region": session.region_name or "us-east-1"}, "credential_provider": provider}
