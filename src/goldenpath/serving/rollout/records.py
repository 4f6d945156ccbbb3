"""The records of rollouts in the store. Each is written once; together they are the rollout's state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldenpath.errors import DataDamaged, Temporary
from goldenpath.serving.plan import PromotionPlan
from goldenpath.serving.rollout.machine import Event, Phase, State
from goldenpath.store import Store, keys

R = TypeVar("R", bound=BaseModel)

_TRIES = 20


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Opening(_Record):
    """``rollouts/<service>/<n>/0000000000.json``: what was asked for, and what it is compared with."""

    schema_: int = Field(default=1, alias="schema")
    kind: Literal["promotion", "rollback"] = "promotion"
    service: str
    number: int
    run: str
    model: str
    """The reference of the model that shall serve."""
    champion: str = ""
    """The reference of the champion at the start, which must still be it at the promotion."""
    reason: str = ""
    """For a rollback: why."""
    plan: PromotionPlan
    opened_at: datetime


class Transition(_Record):
    """``rollouts/<service>/<n>/<sequence>.json``: from one state to the next, and why."""

    schema_: int = Field(default=1, alias="schema")
    sequence: int
    event: Event
    phase: Phase
    """The phase after it."""
    step: int = 0
    reason: str = ""
    samples: str = ""
    """The key of the judged step's record; 'goldenpath judge replay' gives the same verdict from it."""
    at: datetime

    @property
    def state(self) -> State:
        """The state after it."""
        return State(self.phase, self.step)


class Ending(_Record):
    """``rollouts/<service>/<n>.json``: how the rollout ended."""

    schema_: int = Field(default=1, alias="schema")
    opening: Opening
    transitions: tuple[Transition, ...]
    outcome: Literal["promoted", "rolled_back", "paused"]
    reason: str
    stale: bool = False
    """Whether another model had become champion."""
    champion: str
    """The champion at the end; empty for none."""
    url: str
    report: str = ""
    """The key of the rollout's picture."""
    finished_at: datetime


class Abort(_Record):
    """``rollouts/<service>/<n>/abort.json``: somebody wants the canary taken back."""

    schema_: int = Field(default=1, alias="schema")
    reason: str
    run: str


class Ledger:
    """The rollouts of one service."""

    def __init__(self, store: Store, service: str) -> None:
        self.store = store
        self.service = service

    def numbers(self) -> list[int]:
        """The numbers of all rollouts, the newest first."""
        prefix = keys.rollouts(self.service)
        names = {e.key.removeprefix(prefix).partition("/")[0] for e in self.store.list(prefix)}
        return sorted({int(name.removesuffix(".json")) for name in names}, reverse=True)

    def open(self, opening: Opening) -> Opening:
        """Opens a rollout under the next free number."""
        for _ in range(_TRIES):
            number = max(self.numbers(), default=0) + 1
            numbered = opening.model_copy(update={"number": number})
            if self.store.create(keys.rollout_transition(self.service, number, 0), _bytes(numbered)):
                return numbered
        raise Temporary(f"Too many open rollouts of {self.service} at once.", next_step="Try again.")

    def opening(self, number: int) -> Opening | None:
        """How a rollout was opened."""
        return self._read(keys.rollout_transition(self.service, number, 0), Opening)

    def transitions(self, number: int) -> list[Transition]:
        """The way of a rollout so far, in order."""
        found: list[Transition] = []
        while True:
            key = keys.rollout_transition(self.service, number, len(found) + 1)
            transition = self._read(key, Transition)
            if transition is None:
                return found
            found.append(transition)

    def append(self, number: int, transition: Transition) -> None:
        """Commits a transition.

        Raises:
            Temporary: Another promoter committed one of this number: it is at work.
        """
        key = keys.rollout_transition(self.service, number, transition.sequence)
        data = _bytes(transition)
        if not self.store.create(key, data) and self.store.get(key) != data:
            raise Temporary(
                f"Another promoter of {self.service} is at work: {self.store.uri(key)} is its own."
            )

    def ending(self, number: int) -> Ending | None:
        """How a rollout ended, or None while it has not."""
        return self._read(keys.rollout(self.service, number), Ending)

    def finish(self, ending: Ending) -> Ending:
        """Commits the end, or returns the one that is there."""
        key = keys.rollout(self.service, ending.opening.number)
        if self.store.create(key, _bytes(ending)):
            return ending
        return self.ending(ending.opening.number) or ending

    def of_run(self, run: str, *, kind: str) -> Opening | None:
        """The newest rollout that a run opened."""
        found = (self.opening(number) for number in self.numbers())
        return next((o for o in found if o is not None and (o.run, o.kind) == (run, kind)), None)

    def unfinished(self) -> Iterator[Opening]:
        """Rollouts that have not ended, the newest first."""
        for number in self.numbers():
            if self.ending(number) is None and (opening := self.opening(number)) is not None:
                yield opening

    def last_served(self) -> str:
        """The model that the newest finished rollout left as champion; empty for none."""
        endings = (self.ending(number) for number in self.numbers())
        return next((e.champion for e in endings if e is not None and e.champion), "")

    def ask_abort(self, number: int, abort: Abort) -> None:
        """Asks the promoter of a rollout to take its canary back."""
        self.store.create(self._abort_key(number), _bytes(abort))

    def abort(self, number: int) -> Abort | None:
        """Whether that was asked for."""
        return self._read(self._abort_key(number), Abort)

    def _abort_key(self, number: int) -> str:
        return f"{keys.rollout_folder(self.service, number)}abort.json"

    def _read(self, key: str, kind: type[R]) -> R | None:
        data = self.store.get_or_none(key)
        if data is None:
            return None
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            raise DataDamaged(
                f"The record {self.store.uri(key)} is unreadable: {error.errors()[0]['msg']}."
            ) from None


def _bytes(record: BaseModel) -> bytes:
    return record.model_dump_json(by_alias=True, indent=1).encode()
