"""Aliases: which version is champion, challenger and previous, by create-only epochs.

Each epoch holds the whole map, and the highest one holds. An epoch is created only after the one before
it, so that history has no holes, and of two who move at once one loses. A model that serves under its
own name has the plain aliases; for another service the service's name is appended (``champion-shop``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldenpath import refs
from goldenpath.errors import DataDamaged, InputError, RefError, StaleChampion, Temporary
from goldenpath.refs import Kind
from goldenpath.registry.manifest import check_model_name
from goldenpath.registry.mirror import Mirror
from goldenpath.registry.versions import hex_digest, resolve, version
from goldenpath.store import Store, keys

CHAMPION = "champion"
CHALLENGER = "challenger"
PREVIOUS = "previous"
ROLES = (CHAMPION, CHALLENGER, PREVIOUS)

_TRIES = 20
"""Races that one move may lose before it gives up: each loss is another's progress."""


class AliasEpoch(BaseModel):
    """``refs/aliases/<model>/<epoch>.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: int = Field(default=1, alias="schema")
    model: str
    epoch: int = Field(ge=1)
    aliases: dict[str, str]
    """Full references, with number and digest, by alias."""
    run: str = ""
    """The run that moved them."""
    moved_at: datetime


@dataclass(frozen=True, kw_only=True)
class Aliases:
    """A model's aliases at one epoch; epoch 0 is before the first."""

    model: str
    epoch: int
    refs: Mapping[str, str]

    def of(self, role: str, *, service: str = "") -> str:
        """The reference that holds a role for a service, or an empty string."""
        return self.refs.get(alias_of(role, model=self.model, service=service), "")


def alias_of(role: str, *, model: str, service: str = "") -> str:
    """The alias of a role for a service: the plain role for the service of the model's own name."""
    return role if service in ("", model) else f"{role}-{service}"


def aliases(model: str, *, store: Store) -> Aliases:
    """A model's aliases at this moment."""
    check_model_name(model)
    epoch = max(_epochs(model, store), default=0)
    refs_ = _read(model, epoch, store).aliases if epoch else {}
    return Aliases(model=model, epoch=epoch, refs=refs_)


def alias_history(model: str, *, store: Store) -> Iterator[AliasEpoch]:
    """Every move of a model's aliases, the newest first, each read when it is asked for."""
    return (_read(model, epoch, store) for epoch in sorted(_epochs(model, store), reverse=True))


def move_alias(
    model: str,
    moves: Mapping[str, str],
    *,
    expected_champion: str,
    store: Store,
    tracking: str,
    service: str = "",
    run: str = "",
) -> Aliases:
    """Moves aliases of a service, if its champion still is the expected one.

    A champion that gives way becomes ``previous`` by itself, and a challenger that becomes champion is
    challenger no more. Run again after a kill, it finds the move done and repairs MLflow's copy.

    Args:
        model: The model's name.
        moves: A registered version's reference by role (champion, challenger, previous); an empty one
            takes the role away.
        expected_champion: The champion that the decision was made against; empty for none.
        store: The store of the registry.
        tracking: MLflow's address; empty for no copy there.
        service: The service; by default the one of the model's name.
        run: The run that moves, for the history.

    Returns:
        The aliases after the move.

    Raises:
        StaleChampion: Another model is champion, and these moves are not what made it so.
        InputError: A role is unknown, or a reference is not a registered version of this model.
        Temporary: MLflow does not answer: the move is made, and running again completes the copy.
    """
    check_model_name(model)
    wanted = {role: _registered(ref, model, store) if ref else "" for role, ref in moves.items()}
    if unknown := sorted(wanted.keys() - set(ROLES)):
        raise InputError(f"There is no role {unknown[0]!r}.", next_step=f"Roles: {', '.join(ROLES)}.")
    expected = hex_digest(resolve(expected_champion, store=store)) if expected_champion else ""
    current = _commit(model, wanted, expected, service=service, run=run, store=store)
    if tracking:
        current = mirror_aliases(model, store=store, tracking=tracking)
    return current


def mirror_aliases(model: str, *, store: Store, tracking: str) -> Aliases:
    """Makes MLflow's aliases those of the store, and returns them; versions it lost are made again."""
    mirror = Mirror(tracking)
    current = aliases(model, store=store)
    for _ in range(_TRIES):
        numbers = {}
        for alias, ref in current.refs.items():
            number = refs.parse(ref).number or 0
            numbers[alias] = mirror.keep_version(version(model, number, store=store), store=store.url)
        mirror.keep_aliases(model, numbers)
        # Somebody may have moved them meanwhile, and mirrored before us: then ours was the older map.
        latest = aliases(model, store=store)
        if latest.epoch == current.epoch:
            return current
        current = latest
    raise Temporary(f"The aliases of {model!r} move faster than MLflow can follow.", next_step="Try again.")


def moved(
    current: Mapping[str, str], wanted: Mapping[str, str], *, model: str, service: str = ""
) -> dict[str, str]:
    """The map after a move.

    Args:
        current: The map of the epoch that holds.
        wanted: References by role; an empty one takes the role away.
        model: The model's name.
        service: The service's name.
    """
    name = {role: alias_of(role, model=model, service=service) for role in ROLES}
    after = dict(current)
    old, new = current.get(name[CHAMPION], ""), wanted.get(CHAMPION, "")
    if new and old and new != old:
        after[name[PREVIOUS]] = old
    if new and after.get(name[CHALLENGER]) == new:
        del after[name[CHALLENGER]]
    after.update({name[role]: ref for role, ref in wanted.items()})
    return {alias: ref for alias, ref in sorted(after.items()) if ref}


def _commit(
    model: str, wanted: Mapping[str, str], expected: str, *, service: str, run: str, store: Store
) -> Aliases:
    for _ in range(_TRIES):
        current = aliases(model, store=store)
        held = {role: current.of(role, service=service) for role in ROLES}
        if all(held[role] == ref for role, ref in wanted.items()):
            return current
        champion = held[CHAMPION]
        if (refs.parse(champion).digest if champion else "") != expected:
            raise StaleChampion(
                f"The champion of {service or model!r} is {champion or 'none'}, "
                f"not {f'sha256:{expected}' if expected else 'none'} as was expected.",
                next_step="Evaluate against the champion of now, and gate again.",
            )
        epoch = AliasEpoch(
            model=model,
            epoch=current.epoch + 1,
            aliases=moved(current.refs, wanted, model=model, service=service),
            run=run,
            moved_at=datetime.now(UTC),
        )
        data = epoch.model_dump_json(by_alias=True, indent=1).encode()
        if store.create(keys.alias_epoch(model, epoch.epoch), data):
            return Aliases(model=model, epoch=epoch.epoch, refs=epoch.aliases)
    raise Temporary(f"The aliases of {model!r} are moved by too many at once.", next_step="Try again.")


def _registered(ref: str, model: str, store: Store) -> str:
    """The full reference of a registered version of this model."""
    parsed = refs.parse(ref, store=store.url, kind=Kind.MODELS)
    if parsed.number is None:
        raise RefError(
            f"{ref!r} has no version number: an alias names a registered version.",
            next_step="Register the model first.",
        )
    if (parsed.name, parsed.store) != (model, store.url):
        raise RefError(f"{ref!r} is not a version of the model {model!r} in {store.url}.")
    return str(resolve(ref, store=store))


def _epochs(model: str, store: Store) -> list[int]:
    return [keys.number_of(entry.key) for entry in store.list(keys.alias_epochs(model))]


def _read(model: str, epoch: int, store: Store) -> AliasEpoch:
    key = keys.alias_epoch(model, epoch)
    try:
        found = AliasEpoch.model_validate_json(store.get(key))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise DataDamaged(f"The aliases {store.uri(key)} are unreadable: {fault}.") from None
    if (found.model, found.epoch) != (model, epoch):
        raise DataDamaged(f"{store.uri(key)} holds epoch {found.epoch} of {found.model!r}.")
    return found
