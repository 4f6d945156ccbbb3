"""What serves, and how it came to: the reading side of rollouts, and the end of a local service."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from goldenpath.errors import GoldenPathError, NotFound
from goldenpath.serving.rollout.records import Ledger, Opening
from goldenpath.serving.targets.local import LocalState, LocalTarget, services_folder
from goldenpath.store import Store, keys


@dataclass(frozen=True, kw_only=True)
class RolloutSummary:
    """One rollout in a line."""

    number: int
    kind: str
    model: str
    outcome: str
    """How it ended, or ``unfinished``."""
    reason: str
    run: str
    opened_at: datetime
    record: str
    """The URI of its record: the end's, or the opening's while there is none."""
    report: str
    """The URI of its picture; empty while it is unfinished."""


@dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """A local service and its newest rollout."""

    local: LocalState
    rollout: RolloutSummary | None
    abandoned: bool
    """Whether a rollout is unfinished and nobody is at work on it."""


def status(service: str, *, store: Store, state_dir: Path) -> list[ServiceStatus]:
    """The named service, or all of this machine's project.

    Raises:
        NotFound: There is no service of that name here.
    """
    folder = services_folder(state_dir)
    names = [service] if service else sorted(path.name for path in folder.glob("*") if path.is_dir())
    return [_status(name, store, state_dir) for name in names]


def history(service: str, *, store: Store) -> list[RolloutSummary]:
    """Every rollout of a service, the newest first.

    Raises:
        NotFound: There was none.
    """
    ledger = Ledger(store, service)
    openings = (ledger.opening(number) for number in ledger.numbers())
    found = [_summary(ledger, opening) for opening in openings if opening is not None]
    if not found:
        raise NotFound(f"There was no rollout of {service!r} in {store.url}.")
    return found


def stop(service: str, *, state_dir: Path) -> None:
    """Ends a local service: none of its processes is left.

    Raises:
        NotFound: There is no such service here.
        Temporary: A promoter is at work on it.
    """
    target = _local(service, state_dir)
    if not target.folder.is_dir():
        raise NotFound(f"There is no service {service!r} under {target.folder.parent}.")
    with target.hold():
        target.stop()


def _status(service: str, store: Store, state_dir: Path) -> ServiceStatus:
    local = _local(service, state_dir).state()
    ledger = Ledger(store, service)
    newest = next((o for n in ledger.numbers() if (o := ledger.opening(n)) is not None), None)
    rollout = _summary(ledger, newest) if newest is not None else None
    unfinished = rollout is not None and rollout.outcome == "unfinished"
    return ServiceStatus(local=local, rollout=rollout, abandoned=unfinished and not local.promoter)


def _summary(ledger: Ledger, opening: Opening) -> RolloutSummary:
    ending = ledger.ending(opening.number)
    if ending is None:
        last = ledger.transitions(opening.number)
        record = keys.rollout_transition(opening.service, opening.number, 0)
        outcome, reason = "unfinished", f"in {last[-1].phase.value}" if last else "just begun"
    else:
        record = keys.rollout(opening.service, opening.number)
        outcome, reason = ending.outcome, ending.reason
    return RolloutSummary(
        number=opening.number,
        kind=opening.kind,
        model=opening.model,
        outcome=outcome,
        reason=reason,
        run=opening.run,
        opened_at=opening.opened_at,
        record=ledger.store.uri(record),
        report=ledger.store.uri(ending.report) if ending is not None and ending.report else "",
    )


def _local(service: str, state_dir: Path) -> LocalTarget:
    def fetch(model: str, _folder: Path) -> None:
        raise GoldenPathError(f"{model} is not to be started here.")

    return LocalTarget(service, state_dir=state_dir, fetch=fetch)
