"""What a trace is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that a model came from or came to."""

    text: str
    """In a few words."""
    uri: str = ""
    """Where it can be read again; empty for what has no address, such as a queue."""
    resolves: bool | None = None
    """Whether it is there (and, where digests were read again, whole); None where nothing was looked up."""
    fault: str = ""
    """Why it does not resolve."""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the run, where its work was really done."""

    step: str
    component: str
    run: str
    """The run that did the work: another one than the traced, where its result was adopted."""
    started_at: datetime
    finished_at: datetime
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Came:
    """A run that a dataset or a commit went into, and what came of it."""

    run: str
    model: str
    """The model's reference; empty where none was made."""
    outcome: str
    """Empty while the run goes on, or where it was killed."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Everything about one thing. What does not apply is empty, and so is what was never made."""

    asked: str
    kind: str
    """``model``, ``run``, ``dataset`` or ``commit``."""
    verified: bool
    """Whether digests were read again, or only looked up."""
    model: Entry | None = None
    code: Entry | None = None
    data: tuple[Entry, ...] = ()
    image: Entry | None = None
    config: Entry | None = None
    checkpoints: tuple[Entry, ...] = ()
    evaluation: Entry | None = None
    rows: Entry | None = None
    """The evaluation's rows, from which the gate can be judged again."""
    gate: Entry | None = None
    report: Entry | None = None
    rollout: Entry | None = None
    run: Entry | None = None
    queue: Entry | None = None
    cost: Entry | None = None
    aliases: tuple[str, ...] = ()
    """The aliases that the model holds at this moment."""
    also_by: tuple[str, ...] = ()
    """Other runs that made and registered the same bytes."""
    steps: tuple[Step, ...] = ()
    came_of: tuple[Came, ...] = ()
    """For a dataset or a commit: the runs it went into, the newest first."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What does not resolve, in sentences."""
        return tuple(f"{name}: {entry.fault}" for name, entry in self.entries() if entry.fault)

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Every entry with the name of its field."""
        for one in fields(self):
            value = getattr(self, one.name)
            for entry in value if isinstance(value, tuple) else (value,):
                if isinstance(entry, Entry):
                    yield one.name, entry

    def with_entries(self, entries: list[tuple[str, Entry]]) -> Trace:
        """The same trace with these entries in their fields' places."""
        changes: dict[str, Any] = {}
        for name, entry in entries:
            if isinstance(getattr(self, name), tuple):
                changes[name] = (*changes.get(name, ()), entry)
            else:
                changes[name] = entry
        return replace(self, **changes)
