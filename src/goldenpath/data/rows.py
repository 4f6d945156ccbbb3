"""The rows of a version: one line of canonical JSON a file, link or empty folder.

    {"chunks":["<sha256>",…],"mode":420,"path":"a/b.csv","size":10}
    {"link":"../b.csv","path":"a/link"}
    {"folder":true,"mode":493,"path":"empty"}

A file's chunks are the digests of its blocks of 16 MiB: one for most files, none for an empty one.
Rows are ordered by the names on their paths, so that a folder's content stands together and a walk
finds it in this order.

A manifest may come from anybody who can write to the store. So ``decode`` trusts nothing: a path that
climbs, a link that leaves the root, a row out of order, a file that is also a folder: all are refused
before the first byte is written anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from goldenpath.errors import DataDamaged

BLOCK = 16 * 2**20
"""Bytes of a block: larger files are cut at its multiples."""

PACKED_BELOW = 4 * 2**20
"""Files under this size share pack objects; blocks of larger ones are objects of their own."""

_MAX_NAME = 255
_MODE = 0o777
_HEX = re.compile(r"[0-9a-f]{64}").fullmatch


class Row(NamedTuple):
    """One file, link or empty folder."""

    path: str
    size: int = 0
    mode: int = 0
    chunks: tuple[str, ...] = ()
    link: str = ""
    """The target of a symbolic link; empty for all else."""
    folder: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it is a file, and not a link or an empty folder."""
        return not self.link and not self.folder

    @property
    def packed(self) -> bool:
        """Whether its bytes lie in a pack."""
        return bool(self.chunks) and self.size < PACKED_BELOW

    def block_size(self, number: int) -> int:
        """The bytes of one of its blocks: the last may be shorter."""
        return min(BLOCK, self.size - number * BLOCK)


def order(path: str) -> str:
    """The sort key of a path: '/' comes before every other character."""
    return path.replace("/", "\0")


def encode(row: Row) -> bytes:
    """The canonical line of a row (RFC 8785), without a newline."""
    path = json.dumps(row.path, ensure_ascii=False)
    if row.link:
        text = f'{{"link":{json.dumps(row.link, ensure_ascii=False)},"path":{path}}}'
    elif row.folder:
        text = f'{{"folder":true,"mode":{row.mode},"path":{path}}}'
    else:
        chunks = '","'.join(row.chunks)
        listed = f'["{chunks}"]' if chunks else "[]"
        text = f'{{"chunks":{listed},"mode":{row.mode},"path":{path},"size":{row.size}}}'
    return text.encode()


def decode(lines: Iterable[bytes], *, where: str) -> Iterator[Row]:
    """Reads rows and refuses every one that a snapshot could not have written.

    Args:
        lines: Lines without their newlines.
        where: The object that they come from, for the message.

    Raises:
        DataDamaged: A row is malformed, unsafe or out of order.
    """
    before: Row | None = None
    for number, line in enumerate(lines, start=1):
        try:
            row = parse(line)
            if before is not None:
                _check_order(before, row)
        except (ValueError, KeyError, TypeError) as error:
            raise DataDamaged(
                f"The manifest {where} is not one that a snapshot writes: row {number}: {error}.",
                next_step="Nothing was written. Look who can write to the store.",
            ) from None
        yield row
        before = row


def parse(line: bytes) -> Row:
    """Reads one row.

    Raises:
        ValueError, KeyError, TypeError: It is malformed or unsafe.
    """
    # As text: given bytes, json first guesses their encoding.
    value = json.loads(line.decode())
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  (one kind of error for a malformed row)
    path = check_path(value["path"])
    if "link" in value:
        _check_keys(value, {"link", "path"})
        return Row(path, link=check_link(path, value["link"]))
    mode = _whole(value["mode"], _MODE)
    if "folder" in value:
        _check_keys(value, {"folder", "mode", "path"})
        if value["folder"] is not True:
            raise ValueError("folder is not true")
        return Row(path, mode=mode, folder=True)
    _check_keys(value, {"chunks", "mode", "path", "size"})
    size = _whole(value["size"], 2**53 - 1)
    chunks = tuple(value["chunks"])
    if len(chunks) != -(-size // BLOCK):
        raise ValueError(f"{len(chunks)} chunks do not make {size} bytes")
    for chunk in chunks:
        if not _HEX(chunk):
            raise ValueError(f"the chunk {chunk!r} is no sha256")
    return Row(path, size, mode, chunks)


def _check_keys(value: dict[str, Any], expected: set[str]) -> None:
    if value.keys() != expected:
        raise ValueError(f"its keys are {', '.join(sorted(value))}")


def _whole(value: Any, highest: int) -> int:
    if type(value) is not int or not 0 <= value <= highest:
        raise ValueError(f"{value!r} is not a whole number up to {highest}")
    return value


def check_path(path: Any) -> str:
    """Returns a path that stays below its root, or raises ValueError saying why it does not."""
    if not isinstance(path, str):
        raise ValueError(f"the path {path!r} is no text")  # noqa: TRY004  (as above)
    for name in path.split("/"):
        if name in ("", ".", ".."):
            raise ValueError(f"the path {path!r} is absolute, climbs, or has an empty name")
        if "\0" in name:
            raise ValueError(f"the path {path!r} holds a NUL")
        if len(name.encode()) > _MAX_NAME:
            raise ValueError(f"the name {name[:40]!r}… is longer than {_MAX_NAME} bytes")
    return path


def check_link(path: str, target: Any) -> str:
    """Returns a link's target that stays below the root, or raises ValueError.

    '..' is allowed at the beginning only: there it climbs from the link's own folder, which is a real
    one; after a name it would climb from wherever another link leads.
    """
    if not isinstance(target, str) or not target.encode() or "\0" in target:
        raise ValueError(f"the link {path!r} has the target {target!r}")
    names = [name for name in target.split("/") if name not in ("", ".")]
    climbs = 0
    while climbs < len(names) and names[climbs] == "..":
        climbs += 1
    if target.startswith("/") or climbs > path.count("/") or ".." in names[climbs:]:
        raise ValueError(f"the link {path!r} leads to {target!r}, which may be outside the root")
    return target


def _check_order(before: Row, row: Row) -> None:
    if order(before.path) >= order(row.path):
        raise ValueError(f"{row.path!r} comes after {before.path!r}")
    # Whatever lies below a path comes right after it.
    if row.path.startswith(before.path + "/"):
        raise ValueError(f"{before.path!r} is a {_kind(before)}, and {row.path!r} is below it")


def _kind(row: Row) -> str:
    return "link" if row.link else "folder without content" if row.folder else "file"
