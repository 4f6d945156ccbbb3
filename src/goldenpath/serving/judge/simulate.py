"""Simulated rollouts: how often judges cry wolf, and how soon they find a harm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldenpath.errors import InputError
from goldenpath.serving.judge import evidence
from goldenpath.serving.judge.evidence import Array
from goldenpath.serving.judge.peers import PEERS, Flags

OURS = "goldenpath"


@dataclass(frozen=True, kw_only=True)
class JudgeFigures:
    """One judge's figures. Shares are of all simulated rollouts."""

    judge: str
    false_alarms: float
    """Rollouts of a canary as good as the stable arm that were taken back."""
    detected: float
    """Rollouts of the harmful canary that were taken back."""
    median_looks: float | None
    """The look at which the median harmful rollout was taken back; None if fewer than half were."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """The figures of all judges on the same streams, with what they were made from."""

    error_rate: float
    harm: float
    margin: float
    requests: int
    """Requests an arm between two looks."""
    looks: int
    rollouts: int
    seed: int
    judges: tuple[JudgeFigures, ...]


def simulate(
    *,
    error_rate: float,
    harm: float,
    requests: int = 200,
    looks: int = 30,
    rollouts: int = 2000,
    margin: float = 0.0,
    alpha: float = 0.05,
    seed: int = 0,
) -> Simulation:
    """Plays rollouts with independent errors and half of the traffic at each arm.

    Args:
        error_rate: The stable arm's true rate.
        harm: What the harmful canary's rate is above it.
        requests: Requests an arm between two looks.
        looks: Looks a rollout.
        rollouts: Rollouts of each kind.
        margin: The harm that our judge tolerates; the others know none.
        alpha: Our judge's level.
        seed: The same seed gives the same figures.

    Raises:
        InputError: A rate is outside 0 to 1, or a count is not positive.
    """
    if not 0 <= error_rate <= 1 or not 0 <= error_rate + harm <= 1:
        raise InputError(f"The rates {error_rate} and {error_rate + harm} must lie in 0 to 1.")
    if min(requests, looks, rollouts) < 1 or rollouts * looks > 10**6:
        raise InputError(
            f"{rollouts} rollouts of {looks} looks at {requests} requests cannot be simulated.",
            next_step="All are positive, with at most a million looks in all.",
        )
    random = np.random.default_rng(seed)

    def errors(rate: float) -> Array:
        return random.binomial(requests, rate, (rollouts, looks)).astype(np.float64)

    same = errors(error_rate), errors(error_rate)
    harmful = errors(error_rate), errors(error_rate + harm)

    def ours(stable: Array, canary: Array, n: int) -> Flags:
        every = np.full(stable.shape, float(n))
        log_e = evidence.log_evidence(stable, every, canary, every, delta=margin, ratios=evidence.HARM_RATIOS)
        return log_e >= -math.log(alpha)

    judges = {OURS: ours, **PEERS}
    return Simulation(
        error_rate=error_rate,
        harm=harm,
        margin=margin,
        requests=requests,
        looks=looks,
        rollouts=rollouts,
        seed=seed,
        judges=tuple(
            _figures(name, act(*same, requests), act(*harmful, requests)) for name, act in judges.items()
        ),
    )


def _figures(name: str, alarms: Flags, hits: Flags) -> JudgeFigures:
    found = hits.any(axis=1)
    first = np.where(found, hits.argmax(axis=1) + 1.0, np.inf)
    median = float(np.median(first))
    return JudgeFigures(
        judge=name,
        false_alarms=float(alarms.any(axis=1).mean()),
        detected=float(found.mean()),
        median_looks=median if math.isfinite(median) else None,
    )
