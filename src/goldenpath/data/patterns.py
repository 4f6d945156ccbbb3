"""Patterns of paths, as ``SnapshotOptions.exclude`` and ``restore(only=…)`` take them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A function that tells whether a path, or the folder that it names, fits one of the patterns.

    A pattern without '/' is for the last name of a path, one with '/' for the whole path.
    """
    parts = []
    for pattern in patterns:
        body = pattern.rstrip("/")
        anywhere = "" if "/" in body else "(?:.*/)?"
        parts.append(anywhere + _translated(body))
    if not parts:
        return lambda _path: False
    fits = re.compile("|".join(f"(?:{part})" for part in parts), flags=re.DOTALL).fullmatch
    return lambda path: fits(path) is not None


def _translated(pattern: str) -> str:
    found = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        if piece == "**/":
            found.append("(?:.*/)?")
        elif piece == "**":
            found.append(".*")
        elif piece == "*":
            found.append("[^/]*")
        elif piece == "?":
            found.append("[^/]")
        else:
            found.append(re.escape(piece))
    return "".join(found)
