"""A local folder or file as a source."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from goldenpath.data.config import SnapshotOptions
from goldenpath.data.patterns import matcher
from goldenpath.data.rows import PACKED_BELOW, check_link
from goldenpath.data.source import Entry, changed
from goldenpath.errors import InputError, NotFound

_SETTLED_NS = 2 * 10**9
_READ_TRIES = 3
_GIT_SECONDS = 60


class Tree:
    """A folder, or a single file."""

    def __init__(self, path: Path, options: SnapshotOptions) -> None:
        """Opens the source.

        Raises:
            NotFound: There is no such folder or file.
        """
        if not path.exists():
            raise NotFound(f"There is no folder or file {str(path)!r} to take a snapshot of.")
        self.path = path.resolve()
        self.name = str(self.path)
        self._single = self.path.is_file()
        self._root = str(self.path.parent if self._single else self.path)
        self._excluded = matcher(options.excluded)
        self._listed = git_files(self.path) if options.preset == "code" and not self._single else None

    def entries(self) -> Iterator[Entry]:
        """Walks the tree, each folder's names in order."""
        now = time.time_ns()
        if self._single:
            yield _entry(self.path.name, self.path.stat(), "", now)
            return
        yield from self._walk("", now)

    def _walk(self, prefix: str, now: int) -> Iterator[Entry]:
        folder = os.path.join(self._root, prefix) if prefix else self._root  # noqa: PTH118  (a hot loop)
        try:
            with os.scandir(folder) as scan:
                found = sorted(scan, key=_name)
        except FileNotFoundError:
            raise changed(self.name, [prefix]) from None
        except PermissionError:
            raise InputError(f"The folder {folder!r} may not be read.") from None
        for item in found:
            path = prefix + item.name
            if self._excluded(path):
                continue
            try:
                if item.is_dir(follow_symlinks=False):
                    yield from self._folder(path, item, now)
                elif self._listed is None or self._listed(path):
                    yield self._leaf(path, item, now)
            except FileNotFoundError:
                raise changed(self.name, [path]) from None

    def _folder(self, path: str, item: os.DirEntry[str], now: int) -> Iterator[Entry]:
        if self._listed is not None and not self._listed(path + "/"):
            return
        empty = True
        for entry in self._walk(path + "/", now):
            empty = False
            yield entry
        # Git knows no empty folders; neither has a source tree any.
        if empty and self._listed is None:
            mode = stat.S_IMODE(item.stat(follow_symlinks=False).st_mode) & 0o777
            yield Entry(self._checked(path), mode=mode, folder=True)

    def _leaf(self, path: str, item: os.DirEntry[str], now: int) -> Entry:
        self._checked(path)
        info = item.stat(follow_symlinks=False)
        if stat.S_ISREG(info.st_mode):
            return _entry(path, info, "", now)
        if stat.S_ISLNK(info.st_mode):
            target = str(Path(item.path).readlink())
            try:
                return _entry(path, info, check_link(path, target), now)
            except ValueError as error:
                raise InputError(
                    f"{self.name} cannot be kept: {error}.",
                    next_step="Copy what it leads to, or leave it out (options.exclude).",
                ) from None
        raise InputError(
            f"{item.path!r} is neither a file, a folder nor a link.",
            next_step="Leave it out (options.exclude).",
        )

    def _checked(self, path: str) -> str:
        # The disk sees to all else that ``rows.check_path`` asks for.
        try:
            path.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"The name {os.fsencode(path)!r} in {self.name} is not valid UTF-8.", next_step="Rename it."
            ) from None
        return path

    def read_whole(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Reads small files; one that changes under the reading is read again."""
        for entry in entries:
            yield self._read_small(entry)

    def _read_small(self, entry: Entry) -> tuple[Entry, bytes]:
        for _ in range(_READ_TRIES):
            with _Opened(self._root, entry, self.name) as file:
                before = os.fstat(file)
                data = _read(file, before.st_size) if before.st_size < PACKED_BELOW else b""
                after = os.fstat(file)
            if _stamp(before) == _stamp(after) and len(data) == after.st_size:
                if _stamp(after) == entry.stamp:
                    return entry, data
                return _entry(entry.path, after, "", time.time_ns()), data
        raise changed(self.name, [entry.path])

    def read_block(self, entry: Entry, start: int, length: int) -> bytes:
        """Reads a block of a large file, which must be as it was when it was found."""
        with _Opened(self._root, entry, self.name) as file:
            data = _read(file, length, start)
            if _stamp(os.fstat(file)) != entry.stamp or len(data) != length:
                raise changed(self.name, [entry.path])
        return data


class _Opened:
    """A file of the tree, opened without following a link that took its place meanwhile."""

    def __init__(self, root: str, entry: Entry, source: str) -> None:
        try:
            self._file = os.open(f"{root}/{entry.path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except PermissionError:
            raise InputError(f"The file {entry.path!r} of {source} may not be read.") from None
        except OSError:
            raise changed(source, [entry.path]) from None

    def __enter__(self) -> int:
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def _read(file: int, length: int, start: int = 0) -> bytes:
    data = os.pread(file, length, start)
    if len(data) == length:
        return data
    parts = [data]
    while parts[-1] and (left := length - sum(map(len, parts))) > 0:
        parts.append(os.pread(file, left, start + length - left))
    return b"".join(parts)


def _entry(path: str, info: os.stat_result, link: str, now: int) -> Entry:
    settled = max(info.st_mtime_ns, info.st_ctime_ns) < now - _SETTLED_NS
    mode = stat.S_IMODE(info.st_mode) & 0o777
    return Entry(path, 0 if link else info.st_size, mode, _stamp(info), settled, link)


def _name(item: os.DirEntry[str]) -> str:
    return item.name


def _stamp(info: os.stat_result) -> str:
    return f"{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}:{info.st_ino}:{info.st_mode & 0o777}"


def git_files(folder: Path) -> Callable[[str], bool] | None:
    """Which paths below a folder Git tracks or would track; folders end in '/'.

    None outside Git, and for a folder that Git ignores as a whole: of what is in it Git says nothing.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607  (git is found by PATH on purpose)
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    files = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    if not files:
        return None
    # A repository inside this one is listed as a folder: all of it belongs to the tree.
    nested = tuple(sorted(f"{path.rstrip('/')}/" for path in files if (folder / path).is_dir()))
    folders = {path[: end + 1] for path in files for end, letter in enumerate(path) if letter == "/"}
    return lambda path: path in files or path in folders or path.startswith(nested)
