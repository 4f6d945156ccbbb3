"""Fetching and verifying: a model's files, checked against their manifest byte by byte."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from goldenpath import progress
from goldenpath.errors import DataDamaged, InputError, NotFound, Temporary
from goldenpath.registry.manifest import RESERVED, File, Manifest, manifest_of
from goldenpath.registry.signature import check_signature
from goldenpath.registry.transfer import in_parallel, pieces, sha256_of
from goldenpath.registry.versions import resolve, store_of
from goldenpath.store import Store

_FULL = (errno.ENOSPC, errno.EDQUOT)


def fetch(ref: str, dest: Path, *, store: Store, trusted_key: Path | None = None) -> Path:
    """Brings a model's files into a folder: all of them, verified, or none.

    The files are written beside ``dest`` and moved there in one act when every digest is right.
    Several processes may fetch into one folder at once: one does the work, the others wait for it. A
    folder that holds the model already is verified again, not fetched; other files in it stay.

    Args:
        ref: The model's reference, by digest or by number.
        dest: The folder to make.
        store: The store that a short reference refers to.
        trusted_key: A public key (PEM): the model must be signed by its holder. None asks for no
            signature.

    Returns:
        ``dest``.

    Raises:
        NotFound: There is no such model.
        DataDamaged: Stored bytes, or those in ``dest``, are not those of the manifest.
        Refused: The signature is missing or does not hold.
        InputError: ``dest`` cannot be made, or holds something else.
        Temporary: The disk is full, or the store does not answer.
    """
    found = resolve(ref, store=store)
    where = store_of(found, store)
    manifest = manifest_of(found, store=store)
    if trusted_key is not None:
        check_signature(manifest, store=where, trusted=trusted_key)
    target = dest.absolute()
    with _local_faults(dest), _alone(target):
        if target.exists() and any(target.iterdir()):
            _check_folder(target, manifest)
            return dest
        part = target.with_name(f".{target.name}.part")
        # Whoever left it was killed: the lock is ours.
        shutil.rmtree(part, ignore_errors=True)
        try:
            _download(manifest, part, store=where)
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return dest


def verify(ref: str, *, store: Store, trusted_key: Path | None = None) -> Manifest:
    """Reads a published model again, byte by byte.

    Args:
        ref: The model's reference.
        store: The store that a short reference refers to.
        trusted_key: A public key (PEM): the model must be signed by its holder. None asks for no
            signature.

    Returns:
        Its manifest.

    Raises:
        NotFound: There is no such model.
        DataDamaged: A file is missing, differs from its digest, or is not in the manifest.
        Refused: The signature is missing or does not hold.
    """
    found = resolve(ref, store=store)
    where = store_of(found, store)
    manifest = manifest_of(found, store=store)
    faults = _unknown_files(manifest, store=where)
    with progress.task(f"Verify {found.short}", total=manifest.size, unit="B") as ahead:
        for file, fault in in_parallel(lambda f: (f, _stored_fault(f, manifest, where)), manifest.files):
            ahead(file.size)
            if fault:
                faults.append(f"{file.path!r} {fault}")
    if faults:
        raise DataDamaged(
            f"The model {found} is damaged: {'; '.join(sorted(faults)[:5])}.",
            next_step="Do not serve it; train it again, or restore its files.",
        )
    if trusted_key is not None:
        check_signature(manifest, store=where, trusted=trusted_key)
    return manifest


def _unknown_files(manifest: Manifest, *, store: Store) -> list[str]:
    # A model server takes all that lies in the folder: a file that nobody published is damage too.
    known = {file.path for file in manifest.files} | RESERVED
    names = (entry.key.removeprefix(manifest.prefix) for entry in store.list(manifest.prefix))
    return [f"{name!r} is not in the manifest" for name in names if name not in known]


def _stored_fault(file: File, manifest: Manifest, store: Store) -> str:
    key = manifest.prefix + file.path
    entry = store.head(key)
    if entry is None:
        return "is missing"
    if entry.size != file.size:
        return f"has {entry.size} bytes, not {file.size}"
    digest = hashlib.sha256()
    for start, length in pieces(file.size):
        digest.update(store.get_range(key, start, length))
    return "" if digest.hexdigest() == file.sha256 else f"has the sha256 {digest.hexdigest()}"


def _download(manifest: Manifest, part: Path, *, store: Store) -> None:
    part.mkdir(parents=True)
    work: list[tuple[File, int, int]] = []
    for file in manifest.files:
        path = part / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            out.truncate(file.size)
        work += [(file, start, length) for start, length in pieces(file.size)]
    with progress.task(f"Fetch {manifest.name}", total=manifest.size, unit="B") as ahead:

        def piece(item: tuple[File, int, int]) -> int:
            file, start, length = item
            try:
                data = store.get_range(manifest.prefix + file.path, start, length)
            except NotFound:
                raise DataDamaged(f"The file {store.uri(manifest.prefix + file.path)} is missing.") from None
            with (part / file.path).open("r+b") as out:
                out.seek(start)
                out.write(data)
            return length

        for length in in_parallel(piece, work):
            ahead(length)
    _check_folder(part, manifest, source=store.uri(manifest.prefix))


def _check_folder(folder: Path, manifest: Manifest, *, source: str = "") -> None:
    """Compares a local folder with the manifest."""
    missing = [file.path for file in manifest.files if not (folder / file.path).is_file()]
    if missing:
        raise InputError(
            f"{folder} holds something else than the model {manifest.name}: no {missing[0]!r}.",
            next_step="Name an empty folder.",
        )

    def differs(file: File) -> str:
        path = folder / file.path
        right = path.stat().st_size == file.size and sha256_of(path) == file.sha256
        return "" if right else file.path

    wrong = sorted(filter(None, in_parallel(differs, manifest.files)))
    if wrong:
        raise DataDamaged(
            f"{source or f'{folder}/'}{wrong[0]} is not the file of the model "
            f"{manifest.name}@sha256:{manifest.digest}.",
            next_step="Do not use this model." if source else f"Remove {folder} to fetch it again.",
        )


@contextlib.contextmanager
def _alone(dest: Path) -> Iterator[None]:
    """One process at a time for one folder; a killed one lets go by itself."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    with dest.with_name(f".{dest.name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.note(f"Another process is fetching into {dest}; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _local_faults(dest: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise Temporary(f"The disk of {dest} is full.", next_step="Free some space, try again.") from None
        raise InputError(f"{dest} cannot be made: {error}.") from None
