"""Publishing: a model's files, written once under their digest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from goldenpath import progress
from goldenpath.errors import InputError
from goldenpath.refs import Kind, Ref
from goldenpath.registry.manifest import (
    MANIFEST,
    File,
    Manifest,
    check_model_name,
    digest_files,
    manifest_of,
    path_fault,
)
from goldenpath.registry.transfer import PIECE, in_parallel, sha256_of
from goldenpath.store import Store


def publish(folder: Path, name: str, *, store: Store, metadata: dict[str, JsonValue] | None = None) -> str:
    """Writes a model's files under ``models/<name>/sha256-<hex>/``, as model servers read them.

    The manifest is written last and once: before it there is no model. Killed at any point and run
    again, it goes on with the files that are missing. The same files published again are the same
    model, and the metadata of the first time stays.

    Args:
        folder: The folder with the files. Links inside it are followed, links out of it refused.
        name: The model's name.
        store: Where to write.
        metadata: JSON values about the model (metrics, framework, input example); not in its digest.

    Returns:
        The reference by digest, ``<store>/models/<name>@sha256:<hex>``.

    Raises:
        InputError: The folder is empty, holds what a model cannot, or changes meanwhile.
    """
    check_model_name(name)
    local = scan(folder)
    files = _hash(local, name)
    manifest = Manifest(name=name, digest=digest_files(files), files=files, metadata=metadata or {})
    content = manifest.to_bytes()
    ref = Ref(store=store.url, kind=Kind.MODELS, name=name, digest=manifest.digest)
    if store.head(manifest.prefix + MANIFEST) is None:
        _upload(local, manifest, store=store)
        if store.create(manifest.prefix + MANIFEST, content):
            return str(ref)
    # Published before: the manifest that is there has to be sound, for this one would not replace it.
    manifest_of(ref, store=store)
    progress.note(f"{name}: published already as sha256:{manifest.digest[:12]}")
    return str(ref)


def _hash(local: dict[str, Path], name: str) -> tuple[File, ...]:
    files = []
    with progress.task(f"Hash {name}", total=len(local), unit="files") as ahead:
        for file in in_parallel(lambda item: _hashed(*item), local.items()):
            files.append(file)
            ahead(1)
    return tuple(sorted(files, key=lambda file: file.path))


def _upload(local: dict[str, Path], manifest: Manifest, *, store: Store) -> None:
    with progress.task(f"Publish {manifest.name}", total=manifest.size, unit="B") as ahead:

        def upload(file: File) -> int:
            key = manifest.prefix + file.path
            # An object appears whole or not at all, and only with the right bytes: its size is enough.
            there = store.head(key)
            if there is None or there.size != file.size:
                _put(local[file.path], file, key, store=store)
            return file.size

        for size in in_parallel(upload, manifest.files):
            ahead(size)


def _put(path: Path, file: File, key: str, *, store: Store) -> None:
    content = _verified(path, file)
    if file.size <= PIECE:
        store.put(key, b"".join(content))
    else:
        store.put_stream(key, content, size=file.size)


def _verified(path: Path, file: File) -> Iterator[bytes]:
    """The file's bytes; the last of them only if all are still those that were hashed."""
    digest = hashlib.sha256()
    left = file.size
    try:
        with path.open("rb") as source:
            while left > PIECE:
                piece = source.read(PIECE)
                digest.update(piece)
                left -= len(piece)
                if not piece:
                    break
                yield piece
            last = source.read(left + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    digest.update(last)
    if digest.hexdigest() != file.sha256:
        raise InputError(
            f"{path} changed while it was being published.", next_step="Publish what nobody writes to."
        )
    yield last


def _hashed(name: str, path: Path) -> File:
    try:
        return File(path=name, size=path.stat().st_size, sha256=sha256_of(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def scan(folder: Path) -> dict[str, Path]:
    """The files of a folder by their relative names; links inside the folder stand for their target.

    Raises:
        InputError: There are none, or one that a model cannot hold.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", next_step="A model is published from a folder.")
    root = folder.resolve()
    found: dict[str, Path] = {}
    for parent, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(parent) / name
            relative = path.relative_to(root).as_posix()
            mode = _mode(path, relative, root)
            if stat.S_ISDIR(mode):
                if path.is_symlink():
                    raise InputError(
                        f"{relative!r} in {folder} is a link to a folder.", next_step="Copy the folder."
                    )
            elif not stat.S_ISREG(mode):
                raise InputError(f"{relative!r} in {folder} is neither a file nor a folder.")
            elif fault := path_fault(relative):
                raise InputError(f"{relative!r} cannot be a model's file: {fault}.", next_step="Rename it.")
            else:
                found[relative] = path
    if not found:
        raise InputError(f"{folder} holds no files.", next_step="Write the model before publishing it.")
    return found


def _mode(path: Path, relative: str, root: Path) -> int:
    """The type of a path's target, which must lie in the folder."""
    try:
        target = path.resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError):
        raise InputError(f"{relative!r} in {root} leads nowhere.", next_step="Remove the link.") from None
    if not target.is_relative_to(root):
        raise InputError(
            f"{relative!r} leads out of {root}, to {target}.", next_step="Copy the file into the folder."
        )
    return mode
