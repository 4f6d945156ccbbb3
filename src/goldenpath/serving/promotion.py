"""Promotion and rollback: who may begin, what is finished first, and what a caller gets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from goldenpath import progress
from goldenpath.errors import NotFound, Refused, StaleChampion, Temporary
from goldenpath.refs import Kind, check_name
from goldenpath.serving.catalog import Catalog
from goldenpath.serving.plan import PromotionPlan
from goldenpath.serving.rollout.records import Abort, Ending, Ledger, Opening
from goldenpath.serving.rollout.signals import terminable
from goldenpath.serving.targets import PromoterAtWork, Target, open_target
from goldenpath.store import Store, keys

if TYPE_CHECKING:
    from goldenpath.serving.rollout.driver import Rollout

_ABORT_S = 180.0
_POLL_S = 0.5


@dataclass(frozen=True, kw_only=True)
class PromotionResult:
    """How a promotion or a rollback ended."""

    outcome: str
    """``promoted``, ``rolled_back`` or ``paused``: the last with all requests at the champion, too."""
    reason: str
    champion: str
    """The reference of the model that serves now; empty for none."""
    rollout: str
    """The URI of the rollout's record."""
    url: str
    """The service's address."""


def promote(
    model: str,
    service: str,
    plan: PromotionPlan,
    *,
    expected_champion: str,
    run: str,
    store: Store,
    state_dir: Path,
    tracking: str,
    trusted_key: Path | None = None,
) -> PromotionResult:
    """Brings a registered model into service, or leaves the champion serving.

    Killed at any point and called again by the same run, it goes on where it was; a rollout that
    another run left unfinished is taken back first.

    Args:
        model: The model's reference, by its number.
        service: The service's name; it is a name as models have them.
        plan: The target, the steps, the metrics and margins.
        expected_champion: The champion that the model was judged against; empty for none.
        run: The run that promotes.
        store: The store of registry and rollouts.
        state_dir: The folder for what runs on this machine.
        tracking: MLflow's address.
        trusted_key: A public key (PEM): only a model that its holder signed is served. None asks for no
            signature.

    Raises:
        StaleChampion: Another model is champion.
        Temporary: Another promoter of the service is at work.
        InputError: The model has no input example, or the plan's port is taken.
    """
    catalog = Catalog(service=service, store=store, tracking=tracking, run=run, trusted_key=trusted_key)
    place = _Place(catalog, state_dir=state_dir)
    revision = place.catalog.revision(model)
    target = place.target(plan)
    with terminable(), target.hold():
        opening = place.ledger.of_run(run, kind="promotion")
        if opening is None or opening.model != revision.model:
            place.settle("It was left unfinished, and another promotion began.")
            champion = place.catalog.champion(revision.model)
            _check_champion(champion, expected_champion, place)
            opening = place.ledger.open(
                Opening(
                    service=service,
                    number=0,
                    run=run,
                    model=revision.model,
                    champion=champion,
                    plan=plan,
                    opened_at=datetime.now(UTC),
                )
            )
        ending = place.rollout(opening, target).run()
    if ending.stale:
        raise StaleChampion(f"{ending.reason} The canary was taken back.")
    return place.result(ending)


def rollback(
    service: str,
    *,
    reason: str,
    run: str,
    store: Store,
    state_dir: Path,
    tracking: str,
    trusted_key: Path | None = None,
) -> PromotionResult:
    """Takes back what was promoted last: a rollout under way, else the champion, for the one before.

    Args:
        service: The service's name.
        reason: Why; it is kept in the record.
        run: The run that rolls back.
        store: The store of registry and rollouts.
        state_dir: The folder for what runs on this machine.
        tracking: MLflow's address.
        trusted_key: As for a promotion: the model before must be signed too.

    Raises:
        NotFound: The service never served anything.
        Refused: There is no previous champion to go back to.
        Temporary: The promoter at work did not take its canary back in time.
    """
    catalog = Catalog(service=service, store=store, tracking=tracking, run=run, trusted_key=trusted_key)
    place = _Place(catalog, state_dir=state_dir)
    target = place.target(PromotionPlan())
    try:
        with terminable(), target.hold():
            return place.result(_take_back(place, target, reason))
    except PromoterAtWork as busy:
        opening = next(place.ledger.unfinished(), None)
        if opening is None:
            raise
        progress.note(f"Asking the promoter at work to take {opening.model} back. ({busy})")
        return place.result(_ask_back(place, opening, reason))


class _Place:
    """One service with its store and the folder of what runs here, as one run sees it."""

    def __init__(self, catalog: Catalog, *, state_dir: Path) -> None:
        self.service = check_name(catalog.service, Kind.MODELS)
        self.run = catalog.run
        self.state_dir = state_dir
        self.catalog = catalog
        self.ledger = Ledger(catalog.store, self.service)

    def target(self, plan: PromotionPlan) -> Target:
        """Where a plan's service runs."""
        return open_target(self.service, state_dir=self.state_dir, plan=plan, fetch=self.catalog.fetch)

    def rollout(self, opening: Opening, target: Target) -> Rollout:
        """An opened rollout, to be driven on."""
        # Imported here: numpy, which a plan's reader does without.
        from goldenpath.serving.rollout.driver import Rollout

        return Rollout(
            opening,
            target=target,
            catalog=self.catalog,
            ledger=self.ledger,
            work_dir=self.state_dir / "rollouts" / self.service,
        )

    def settle(self, reason: str) -> Ending | None:
        """Ends what a dead promoter left unfinished: back, or forward where the alias had moved."""
        ending = None
        for opening in list(self.ledger.unfinished()):
            progress.note(f"Ending the unfinished rollout {opening.number} of {opening.model}.")
            ending = self.rollout(opening, self.target(opening.plan)).run(abort=reason)
        return ending

    def result(self, ending: Ending) -> PromotionResult:
        """What a caller gets of an ending."""
        return PromotionResult(
            outcome=ending.outcome,
            reason=ending.reason,
            champion=ending.champion,
            rollout=self.ledger.store.uri(keys.rollout(self.service, ending.opening.number)),
            url=ending.url,
        )


def _take_back(place: _Place, target: Target, reason: str) -> Ending:
    mine = place.ledger.of_run(place.run, kind="rollback")
    if mine is not None:
        return place.rollout(mine, target).run()
    ending = place.settle(reason)
    if ending is not None and ending.outcome != "promoted":
        return ending
    served = place.ledger.last_served()
    if not served:
        raise NotFound(f"Nothing was ever promoted to {place.service!r} in {place.ledger.store.url}.")
    champion = place.catalog.champion(served)
    previous = place.catalog.previous(served)
    if not previous:
        raise Refused(
            f"{place.service!r} has no previous champion to go back to; {champion or 'nothing'} serves.",
            next_step="Promote the version that shall serve.",
        )
    opening = place.ledger.open(
        Opening(
            kind="rollback",
            service=place.service,
            number=0,
            run=place.run,
            model=previous,
            champion=champion,
            reason=reason,
            plan=PromotionPlan(),
            opened_at=datetime.now(UTC),
        )
    )
    return place.rollout(opening, target).run()


def _ask_back(place: _Place, opening: Opening, reason: str) -> Ending:
    place.ledger.ask_abort(opening.number, Abort(reason=reason, run=place.run))
    deadline = time.monotonic() + _ABORT_S
    while time.monotonic() < deadline:
        ending = place.ledger.ending(opening.number)
        if ending is not None:
            return ending
        time.sleep(_POLL_S)
    raise Temporary(
        f"The promoter at work on {place.service!r} did not take its canary back in {_ABORT_S:.0f} s.",
        next_step="See 'goldenpath serve status'.",
    )


def _check_champion(champion: str, expected: str, place: _Place) -> None:
    expected_digest = place.catalog.revision(expected).digest if expected else ""
    digest = place.catalog.revision(champion).digest if champion else ""
    if digest != expected_digest:
        raise StaleChampion(
            f"The champion of {place.service!r} is {champion or 'none'}, not {expected or 'none'}.",
            next_step="Evaluate against the champion of now, and gate again.",
        )
