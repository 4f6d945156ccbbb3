"""Brings a version back to a local folder, whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldenpath import progress
from goldenpath.data.config import ALWAYS_EXCLUDED
from goldenpath.data.fetch import Fetch
from goldenpath.data.manifest import Shard, Stored
from goldenpath.data.rows import BLOCK, Row, order
from goldenpath.data.staging import PREFIX, Staging, interrupted
from goldenpath.data.versions import open_version
from goldenpath.errors import GoldenPathError, InputError, NotFound, Temporary
from goldenpath.provenance import sha256_hex
from goldenpath.store import Store


@dataclass(frozen=True, kw_only=True)
class RestoreResult:
    """What was restored. ``bytes`` is the size of all its files together."""

    ref: str
    """With number and digest."""
    files: int
    bytes: int
    kept: int
    """Files that were there already with the same content (``sync``)."""
    removed: int
    """Files that the version does not have (``sync``)."""


def restore(
    ref: str,
    dest: Path,
    *,
    store: Store,
    overwrite: bool = False,
    sync: bool = False,
    paths: Sequence[str] = (),
) -> RestoreResult:
    """Restores a version into a folder that is new or empty.

    Every byte is checked against the manifest before any file is visible at the destination. A new
    or empty folder appears with all its files at once, by one rename; into a folder with content, or
    a mount point, verified files are moved one by one.

    Args:
        ref: The version; a short reference is completed by ``store``.
        dest: The folder.
        store: The store of short references.
        overwrite: Write over files of the same names in a folder that is not empty.
        sync: Make the folder exactly the version: keep equal files, remove those it does not have.
        paths: Only these files and folders of the version.

    Raises:
        RefError, NotFound: There is no such version, or no such path in it.
        InputError: The destination is not empty, not a folder or not writable, or its disk cannot
            hold the names.
        DataDamaged: Stored bytes differ from their digests; nothing was written.
        Temporary: The disk is full, or the store is away.
    """
    version, stored = open_version(ref, store=store)
    dest = Path(os.path.abspath(dest))  # noqa: PTH100  (resolve() would follow a link at the destination)
    fresh = _check_destination(dest, overwrite=overwrite or sync)
    full = str(version.ref(stored.store))
    try:
        if not fresh or dest.is_mount():
            return _restore_into(dest, stored, full, sync=sync, paths=paths)
        dest.parent.mkdir(parents=True, exist_ok=True)
        with Staging(dest.parent) as staging:
            files, size = _fetch(stored, staging.tree, paths, skip=set())
            staging.tree.rename(dest)
    except OSError as error:
        raise _translated(error, dest) from error
    return RestoreResult(ref=full, files=files, bytes=size, kept=0, removed=0)


def _check_destination(dest: Path, *, overwrite: bool) -> bool:
    """Whether the destination is new or empty."""
    if dest.is_symlink() or (dest.exists() and not dest.is_dir()):
        raise InputError(f"The destination {dest} is not a folder.")
    try:
        content = [name for name in os.listdir(dest) if not name.startswith(PREFIX)]  # noqa: PTH208
        killed = interrupted(dest)
    except FileNotFoundError:
        return True
    except PermissionError:
        raise InputError(f"The destination {dest} may not be read.") from None
    if content and not overwrite and not killed:
        raise InputError(
            f"The destination {dest} is not empty: it holds {content[0]!r}"
            f"{f' and {len(content) - 1} more' if len(content) > 1 else ''}.",
            next_step="Name a new folder, or allow it with --overwrite, or with --sync to make it the same.",
        )
    return not content and not killed


def _fetch(stored: Stored, folder: Path, paths: Sequence[str], skip: set[str]) -> tuple[int, int]:
    """Fetches into a fresh folder all but the files in ``skip``; the count and bytes of all."""
    files = size = 0
    asked = set(paths)
    found: set[str] = set()
    with (
        progress.task("Restore", total=stored.manifest.size, unit="bytes") as advance,
        Fetch(stored.store, folder) as fetch,
    ):
        for number, shard in enumerate(stored.manifest.shards):
            if asked and not _may_hold(shard, asked):
                continue
            rows = stored.shard_rows(number)
            wanted = rows
            if asked:
                wanted = [row for row in rows if _asked_for(row.path, asked, found)]
            files += sum(row.is_file for row in wanted)
            amount = sum(row.size for row in wanted)
            if wanted:
                fetch.add(rows, stored.shard_places(number, rows), [r for r in wanted if r.path not in skip])
            size += amount
            advance(amount)
        if asked - found:
            raise NotFound(
                f"The version has no {', '.join(map(repr, sorted(asked - found)[:5]))}.",
                next_step="goldenpath data show lists its files.",
            )
        fetch.finish()
    return files, size


def _may_hold(shard: Shard, asked: set[str]) -> bool:
    return any(
        order(path) <= order(shard.last) and order(shard.first) <= order(path) + "\0\U0010ffff"
        for path in asked
    )


def _asked_for(path: str, asked: set[str], found: set[str]) -> bool:
    above = path
    while above not in asked:
        above = above.rpartition("/")[0]
        if not above:
            return False
    found.add(above)
    return True


def _restore_into(dest: Path, stored: Stored, ref: str, *, sync: bool, paths: Sequence[str]) -> RestoreResult:
    skip: set[str] = set()
    surplus: list[str] = []
    if sync:
        rows = {row.path: row for row in stored.rows()}
        there = list(leaves(dest))
        skip = {path for path in there if path in rows and _same(dest / path, rows[path])}
        surplus = [] if paths else [path for path in there if path not in rows]
    with Staging(dest) as staging:
        files, size = _fetch(stored, staging.tree, paths, skip)
        moves = list(leaves(staging.tree))
        if not sync:
            _check_way(dest, moves)
        staging.begin_move()
        for path in surplus:
            _remove(dest, path)
        for path in moves:
            _move(staging.tree / path, dest / path)
    return RestoreResult(ref=ref, files=files, bytes=size, kept=len(skip), removed=len(surplus))


def leaves(folder: Path, prefix: str = "") -> Iterator[str]:
    """The paths of all files, links and empty folders below a folder, but for this library's own."""
    with os.scandir(folder / prefix) as scan:
        found = [item for item in scan if item.name not in ALWAYS_EXCLUDED]
    for item in found:
        path = prefix + item.name
        if not item.is_dir(follow_symlinks=False):
            yield path
        elif not path.startswith(PREFIX):
            before = path
            for path in leaves(folder, before + "/"):
                yield path
            if path == before:
                yield before


def _same(path: Path, row: Row) -> bool:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return bool(row.link) and str(path.readlink()) == row.link
    if stat.S_IMODE(info.st_mode) != row.mode or stat.S_ISDIR(info.st_mode) != row.folder or row.link:
        return False
    if row.folder:
        return True
    if not stat.S_ISREG(info.st_mode) or info.st_size != row.size:
        return False
    with path.open("rb") as file:
        return all(sha256_hex(file.read(BLOCK)) == chunk for chunk in row.chunks)


def _check_way(dest: Path, moves: Sequence[str]) -> None:
    """Refuses to write through a link or in place of a folder, before anything is moved."""
    for path in moves:
        for above in Path(path).parents[:-1]:
            if (dest / above).is_symlink() or ((dest / above).exists() and not (dest / above).is_dir()):
                raise InputError(
                    f"{dest / above} is not a folder, and the version has {path!r} below it.",
                    next_step="Remove it, or use --sync.",
                )
        target = dest / path
        if target.is_dir() and not target.is_symlink() and any(target.iterdir()):
            raise InputError(
                f"{target} is a folder, and the version has no folder with content there.",
                next_step="Remove it, or use --sync.",
            )


def _remove(dest: Path, path: str) -> None:
    """Removes a file, link or empty folder, and the folders above that it leaves empty."""
    target = dest / path
    if target.is_dir() and not target.is_symlink():
        target.rmdir()
    else:
        target.unlink()
    for above in target.parents:
        if above == dest or any(above.iterdir()):
            break
        above.rmdir()


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        target.rmdir()
    source.replace(target)


def _translated(error: OSError, dest: Path) -> GoldenPathError:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Temporary(
            f"The disk of {dest} is full: {reason}. Nothing of the version was left there.",
            next_step="Free some space, or restore to another disk.",
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return InputError(
            f"The destination {dest} cannot be written: {reason}.", next_step="Name another folder."
        )
    if error.errno == errno.EEXIST:
        return InputError(
            f"{error.filename!r} is there twice on this disk: it does not tell upper from lower case, or "
            "one form of a letter from another.",
            next_step="Restore to a disk that does.",
        )
    return InputError(f"The version cannot be restored to {dest}: {reason} ({error.filename!r}).")
