"""Parallel work over files and pieces of files: shared by publishing, fetching and verifying."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 8
PIECE = 16 << 20
"""Bytes read or written at once."""


def in_parallel(act: Callable[[T], R], items: Iterable[T], *, workers: int = WORKERS) -> Iterator[R]:
    """The results in the order of their ends; the first error stops what has not begun."""
    pool = ThreadPoolExecutor(workers)
    try:
        for done in as_completed([pool.submit(act, item) for item in items]):
            yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def pieces(size: int) -> Iterator[tuple[int, int]]:
    """Start and length of each piece of so many bytes."""
    for start in range(0, size, PIECE):
        yield start, min(PIECE, size - start)


def sha256_of(path: Path) -> str:
    """The sha256 of a local file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
