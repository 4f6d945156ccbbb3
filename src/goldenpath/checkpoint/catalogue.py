"""The checkpoints of a run: found, chosen, verified."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from goldenpath import progress
from goldenpath.checkpoint.info import CheckpointInfo
from goldenpath.checkpoint.manifest import Manifest, digest_of_bytes, parse
from goldenpath.checkpoint.reader import WORKERS, check
from goldenpath.errors import DataDamaged, NotFound, RefError
from goldenpath.refs import Kind, Ref
from goldenpath.refs import parse as parse_ref
from goldenpath.store import Store, keys, open_store

_COMMIT = re.compile(r"[0-9]{10}\.json")


def steps(run: str, *, store: Store) -> list[int]:
    """The steps of all commits of a run, in order."""
    folder = keys.refs(Kind.CHECKPOINTS, run)
    names = (entry.key.removeprefix(folder) for entry in store.list(folder))
    return sorted(keys.number_of(name) for name in names if _COMMIT.fullmatch(name))


def read(run: str, step: int, *, store: Store, digest: str | None = None) -> tuple[Manifest, str]:
    """The manifest of one step, and its digest.

    Raises:
        NotFound: The step has no checkpoint.
        DataDamaged: The manifest is not sound, or not the one of ``digest``.
    """
    key = keys.ref(Kind.CHECKPOINTS, run, step)
    try:
        data = store.get(key)
    except NotFound:
        known = ", ".join(str(known) for known in steps(run, store=store)) or "none"
        raise NotFound(
            f"Run {run} has no checkpoint at step {step}.", next_step=f"It has: {known}."
        ) from None
    found = digest_of_bytes(data)
    if digest is not None and digest != found:
        raise DataDamaged(f"The manifest {store.uri(key)} has the sha256 {found}, not {digest}.")
    return parse(data, run=run, step=step, where=store.uri(key)), found


def sound(run: str, *, store: Store) -> Iterator[tuple[Manifest, str]]:
    """Every readable manifest, the newest first; the others are told of and left out."""
    for step in reversed(steps(run, store=store)):
        try:
            yield read(run, step, store=store)
        except (DataDamaged, NotFound) as error:
            # NotFound: pruned since it was listed.
            progress.note(f"Checkpoint {run}:{step} is left out: {error}")


def list_checkpoints(run: str, *, store: Store) -> list[CheckpointInfo]:
    """The checkpoints of a run by step, the newest last; unreadable ones are told of and left out."""
    found = [manifest.info(store.url, digest) for manifest, digest in sound(run, store=store)]
    return found[::-1]


def mean_stall_s(run: str, *, store: Store) -> float:
    """How long a save kept training from its work, in the mean over the checkpoints there are; else 0."""
    stalls = [manifest.stall_s for manifest, _ in sound(run, store=store)]
    return sum(stalls) / len(stalls) if stalls else 0.0


def select(
    run: str, *, store: Store, metric: str = "", mode: Literal["min", "max"] = "max"
) -> CheckpointInfo:
    """Picks the newest checkpoint whose objects are all there, or the best one by a metric.

    Objects are looked at by presence and size; ``verify`` reads them. A checkpoint without the metric
    is never picked by it; of equals the newest is picked.

    Raises:
        NotFound: No checkpoint is left to pick from, or none has the metric.
    """
    infos = [
        manifest.info(store.url, digest)
        for manifest, digest in sound(run, store=store)
        if _is_complete(store, manifest)
    ]
    if not infos:
        raise NotFound(f"Run {run} has no usable checkpoint in {store.url}.")
    if not metric:
        return infos[0]
    having = [info for info in infos if math.isfinite(info.metrics.get(metric, math.nan))]
    if not having:
        known = ", ".join(sorted({name for info in infos for name in info.metrics})) or "none"
        raise NotFound(
            f"No checkpoint of run {run} has the metric {metric!r}.", next_step=f"Metrics: {known}."
        )
    sign = 1 if mode == "max" else -1
    return max(having, key=lambda info: (sign * info.metrics[metric], info.step))


def resolve(ref: str, *, store: Store | None = None) -> tuple[Store, Manifest, CheckpointInfo]:
    """Reads the manifest that a reference names.

    Args:
        ref: A reference to a checkpoint; without a step, the newest one that is readable.
        store: The store that a short form refers to.

    Raises:
        RefError: The reference is malformed, or gives a digest without a step.
        NotFound: There is no such checkpoint.
        DataDamaged: The manifest is not that of the digest.
    """
    parsed = parse_ref(ref, store=store.url if store else "", kind=Kind.CHECKPOINTS)
    place = open_store(parsed.store)
    manifest, digest = _named(parsed, place)
    return place, manifest, manifest.info(place.url, digest)


def verify(ref: str, *, store: Store | None = None) -> CheckpointInfo:
    """Reads every object of a checkpoint and compares it with its digest.

    Raises:
        DataDamaged: Objects are missing or have other bytes: the first ones are named.
    """
    place, manifest, info = resolve(ref, store=store)
    verify_objects(place, manifest)
    return info


def verify_objects(store: Store, manifest: Manifest) -> None:
    """Reads and compares every object of a manifest.

    Raises:
        DataDamaged: Objects are missing or have other bytes.
    """
    faults = []
    title = f"Verifying {manifest.run}:{manifest.step}"
    with progress.task(title, total=manifest.size, unit="B") as advance, ThreadPoolExecutor(WORKERS) as pool:
        futures = [(item, pool.submit(check, store, item)) for item in manifest.objects]
        for item, future in futures:
            error = future.exception()
            if error is not None and not isinstance(error, DataDamaged):
                raise error
            if error is not None:
                faults.append(str(error))
            advance(item.size)
    if faults:
        more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
        raise DataDamaged(
            f"Checkpoint {manifest.run}:{manifest.step} is damaged: {' '.join(faults[:3])}{more}",
            next_step="Resume falls back to the one before by itself.",
        )


def _named(parsed: Ref, store: Store) -> tuple[Manifest, str]:
    if parsed.number is not None:
        return read(parsed.name, parsed.number, store=store, digest=parsed.digest)
    if parsed.digest is not None:
        raise RefError(f"{parsed} has a digest and no step.", next_step="Write <run>:<step>@sha256:<hex>.")
    newest = next(sound(parsed.name, store=store), None)
    if newest is None:
        raise NotFound(f"Run {parsed.name} has no checkpoint in {store.url}.")
    return newest


def _is_complete(store: Store, manifest: Manifest) -> bool:
    for item in manifest.objects:
        entry = store.head(item.key)
        if entry is None or entry.size != item.size:
            progress.note(
                f"Checkpoint {manifest.run}:{manifest.step} is left out: {store.uri(item.key)} "
                f"{'is missing' if entry is None else f'has {entry.size} of {item.size} bytes'}."
            )
            return False
    return True
