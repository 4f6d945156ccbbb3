"""A store that fails on purpose: the same store behind it, with faults between.

    store = FaultyStore(real, faults=[Fault(on="put", number=3, kind="before")])

Each fault strikes one request of one kind, counted from 1. What a caller sees is what the real client
raises after its own retries.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from goldenpath.errors import Temporary
from goldenpath.store import Entry, Store

T = TypeVar("T")

Operation = Literal["put", "create", "get", "get_range", "head", "list", "delete"]
Kind = Literal["before", "after", "lost", "slow", "flip", "cut"]

READS: tuple[Operation, ...] = ("get", "get_range")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault.

    ``before`` and ``after``: the request fails (the store is away, 503) before or after it took
    effect. ``lost``: a create took effect, but the client's retry finds the object there and reports
    that it was not this caller's. ``slow``: it takes its time. ``flip`` and ``cut``: a read gives a
    changed bit, or the first half.
    """

    on: Operation
    number: int
    kind: Kind


@dataclass
class Requests:
    """What was asked of the store."""

    counts: Counter[str] = field(default_factory=Counter)
    struck: list[Fault] = field(default_factory=list)


class FaultyStore(Store):
    """A store with faults in front of it. ``requests`` tells what was asked and what struck."""

    def __init__(self, real: Store, faults: Sequence[Fault] = (), *, slow_s: float = 0.05) -> None:
        super().__init__(real.url, real.backend)
        self.requests = Requests()
        self._real = real
        self._faults = list(faults)
        self._slow_s = slow_s
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes | memoryview | Path) -> None:
        """Writes, or fails."""
        self._act("put", key, lambda: self._real.put(key, data))

    def create(self, key: str, data: bytes | memoryview | Path) -> bool:
        """Creates, fails, or reports a success as another's."""
        return self._act("create", key, lambda: self._real.create(key, data))

    def get(self, key: str) -> bytes:
        """Reads, fails, or reads damaged bytes."""
        return self._act("get", key, lambda: self._real.get(key))

    def view(self, key: str) -> memoryview:
        """As ``get``."""
        return memoryview(self.get(key))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """As ``get``."""
        return self._act("get_range", key, lambda: self._real.get_range(key, start, length))

    def head(self, key: str) -> Entry | None:
        """Looks, or fails."""
        return self._act("head", key, lambda: self._real.head(key))

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Lists, or fails."""
        return iter(self._act("list", prefix, lambda: [*self._real.list(prefix)]))

    def delete(self, keys: str | Iterable[str]) -> None:
        """Deletes, or fails."""
        for key in [keys] if isinstance(keys, str) else keys:
            self._act("delete", key, functools.partial(self._real.delete, key))

    def _act(self, operation: Operation, key: str, call: Callable[[], T]) -> T:
        fault = self._next(operation)
        if fault is None:
            return call()
        if fault.kind == "before":
            raise self._away(operation, key)
        if fault.kind == "slow":
            time.sleep(self._slow_s)
        result = call()
        if fault.kind == "after":
            raise self._away(operation, key)
        if fault.kind == "lost":
            return cast("T", False)
        return cast("T", _damaged(result, fault.kind))

    def _next(self, operation: Operation) -> Fault | None:
        with self._lock:
            self.requests.counts[operation] += 1
            number = self.requests.counts[operation]
            for fault in self._faults:
                if (fault.on, fault.number) == (operation, number):
                    self.requests.struck.append(fault)
                    return fault
        return None

    def _away(self, operation: str, key: str) -> Temporary:
        return Temporary(f"The store did not answer for {self.uri(key)}: a fault was put on {operation}.")


def _damaged(result: Any, kind: Kind) -> Any:
    if kind not in ("flip", "cut"):
        return result
    if not isinstance(result, bytes) or not result:
        return result
    middle = len(result) // 2
    if kind == "cut":
        return result[:middle]
    return result[:middle] + bytes([result[middle] ^ 1]) + result[middle + 1 :]
