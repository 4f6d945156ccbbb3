"""Retention: which checkpoints stay, and what may be deleted. Deciding is pure.

Deleted is only what a manifest of ours lists, or what lies under an attempt's prefix, in the very
shape that this library writes, and is older than the grace period. Everything else is unknown, and
stays for ever.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from goldenpath.checkpoint import catalogue
from goldenpath.checkpoint.manifest import Manifest
from goldenpath.checkpoint.policy import CheckpointPolicy
from goldenpath.refs import Kind
from goldenpath.store import Entry, Store, keys

_OURS = re.compile(
    r"(?P<attempt>[0-9a-f]{8})/(?:(?P<step>[0-9]{10})/(?:[0-9]{5}-[0-9]{5}\.bin|manifest\.json)"
    r"|rounds/[0-9]{10}/(?:[0-9]+|verdict)\.json)"
)


@dataclass(frozen=True, kw_only=True)
class Prune:
    """What pruning deletes, or deleted."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    """Steps whose checkpoints go."""
    abandoned: int
    """Objects of killed attempts that go."""
    size: int
    """Bytes that become free."""
    unknown: int
    """Objects under the run's prefix that are not known to be ours, and stay."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A ``Prune`` with the keys, in the order of their deletion."""

    result: Prune
    keys: tuple[str, ...]


def kept_steps(manifests: Collection[Manifest], policy: CheckpointPolicy) -> set[int]:
    """The steps that the policy keeps."""
    ordered = sorted(manifests, key=lambda manifest: manifest.step)
    steps = [manifest.step for manifest in ordered]
    kept = set(steps[-policy.keep_last :]) | (set(policy.pins) & set(steps))
    if policy.keep_every_steps:
        kept |= {step for step in steps if step % policy.keep_every_steps == 0}
    if policy.keep_every_s:
        kept |= _first_of_periods(ordered, policy.keep_every_s)
    if policy.keep_best is not None:
        best = policy.keep_best
        sign = 1 if best.mode == "max" else -1
        having = [m for m in ordered if math.isfinite(m.metrics.get(best.metric, math.nan))]
        having.sort(key=lambda m: (sign * m.metrics[best.metric], m.step), reverse=True)
        kept |= {manifest.step for manifest in having[: best.count]}
    return kept


def _first_of_periods(ordered: Iterable[Manifest], seconds: float) -> set[int]:
    kept, seen = set(), set()
    for manifest in ordered:
        period = math.floor(datetime.fromisoformat(manifest.created_at).timestamp() / seconds)
        if period not in seen:
            seen.add(period)
            kept.add(manifest.step)
    return kept


def plan(
    manifests: Collection[Manifest],
    entries: Collection[Entry],
    *,
    run: str,
    policy: CheckpointPolicy,
    now: datetime,
    all_steps: Collection[int],
    attempt: str = "",
    damaged: Collection[int] = (),
) -> Plan:
    """Decides what goes.

    Args:
        manifests: Every readable manifest of the run.
        entries: Every object under the run's prefix.
        run: The run.
        policy: What to keep.
        now: The moment to measure age from.
        all_steps: The steps of all commits, readable or not: an unreadable one's data stays.
        attempt: An attempt at work, whose data is never abandoned.
        damaged: Steps known to be damaged; they count for no rule, and stay.
    """
    present = {entry.key: entry.size for entry in entries}
    whole = [m for m in manifests if m.step not in damaged and _is_whole(m, present)]
    kept = kept_steps(whole, policy)
    dropped = [manifest for manifest in whole if manifest.step not in kept]
    known = {(m.attempt, m.step) for m in manifests}
    unreadable = set(all_steps) - {m.step for m in manifests}
    gone: list[str] = []
    for manifest in dropped:
        # The commit first: what is half deleted must not look like a checkpoint.
        gone.append(keys.ref(Kind.CHECKPOINTS, run, manifest.step))
        gone.append(keys.checkpoint_complete(run, manifest.attempt, manifest.step))
        gone.extend(item.key for item in manifest.objects)
    oldest = now - timedelta(seconds=policy.grace_s)
    folder = keys.checkpoint_attempts(run)
    abandoned, unknown = [], 0
    for entry in entries:
        ours = _OURS.fullmatch(entry.key.removeprefix(folder))
        if ours is None:
            unknown += 1
            continue
        step = int(ours["step"]) if ours["step"] else None
        is_needed = step is not None and ((ours["attempt"], step) in known or step in unreadable)
        if not is_needed and ours["attempt"] != attempt and entry.modified < oldest:
            abandoned.append(entry.key)
    # Without any commit, what looks abandoned may be all that is left of a run.
    abandoned = abandoned if manifests else []
    gone.extend(sorted(abandoned))
    return Plan(
        result=Prune(
            kept=tuple(sorted(set(all_steps) - {m.step for m in dropped})),
            dropped=tuple(sorted(m.step for m in dropped)),
            abandoned=len(abandoned),
            size=sum(present.get(key, 0) for key in gone),
            unknown=unknown,
        ),
        keys=tuple(gone),
    )


def prune(
    run: str,
    *,
    store: Store,
    policy: CheckpointPolicy,
    damaged: Collection[int] = (),
    attempt: str = "",
    dry_run: bool = False,
) -> Prune:
    """Deletes what the policy does not keep; see the module for what is never touched.

    Args:
        run: The run.
        store: Its store.
        policy: What to keep.
        damaged: Steps known to be damaged.
        attempt: An attempt at work.
        dry_run: Only tell.
    """
    # Data is listed before commits: what is committed in between is not taken for abandoned.
    entries = list(store.list(keys.checkpoint_attempts(run)))
    all_steps = _steps(run, entries, store=store)
    manifests = [manifest for manifest, _ in catalogue.sound(run, store=store)]
    found = plan(
        manifests,
        entries,
        run=run,
        policy=policy,
        now=datetime.now(UTC),
        all_steps=all_steps,
        attempt=attempt,
        damaged=damaged,
    )
    if not dry_run:
        store.delete(found.keys)
    return found.result


def _steps(run: str, entries: Iterable[Entry], *, store: Store) -> set[int]:
    """The steps of all commits: the listed ones, and those that data speaks of and a listing left out.

    A listing that misses a commit (stores that list late, a folder read while it changes) must never
    make its data look abandoned.
    """
    found = set(catalogue.steps(run, store=store))
    folder = keys.checkpoint_attempts(run)
    matches = (_OURS.fullmatch(entry.key.removeprefix(folder)) for entry in entries)
    spoken_of = {int(match["step"]) for match in matches if match and match["step"]}
    return found | {
        step for step in spoken_of - found if store.head(keys.ref(Kind.CHECKPOINTS, run, step)) is not None
    }


def _is_whole(manifest: Manifest, present: Mapping[str, int]) -> bool:
    return all(present.get(item.key) == item.size for item in manifest.objects)
