"""A folder beside the destination where a restore works, unseen, until everything is verified."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

PREFIX = ".goldenpath-restore-"
_TREE = "tree"
_MOVING = "moving"


class Staging:
    """A locked folder inside ``parent``; gone when its context ends, even by a kill and a later run.

    The lock is the kernel's and dies with the process: a folder whose lock is free was left behind.
    """

    def __init__(self, parent: Path) -> None:
        self.path = parent / f"{PREFIX}{secrets.token_hex(4)}"

    @property
    def tree(self) -> Path:
        """Where the files are put together."""
        return self.path / _TREE

    def __enter__(self) -> Staging:
        clean(self.path.parent)
        self.path.mkdir(mode=0o700)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.tree.mkdir(exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def begin_move(self) -> None:
        """Marks that files are moved out from now on: a restore killed after this may be finished."""
        (self.path / _MOVING).touch()


def clean(parent: Path) -> None:
    """Removes folders that killed restores left in a folder."""
    for path in _left_behind(parent):
        shutil.rmtree(path, ignore_errors=True)


def interrupted(dest: Path) -> bool:
    """Whether a restore into this folder was killed while it moved files in."""
    return any((path / _MOVING).exists() for path in _left_behind(dest))


def _left_behind(parent: Path) -> Iterator[Path]:
    for path in parent.glob(f"{PREFIX}*"):
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # removed meanwhile, or not ours
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # a restore that runs
        else:
            yield path
        finally:
            os.close(folder)
