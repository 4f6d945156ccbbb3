"""What a rollout needs of the place where a service runs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from goldenpath.errors import Temporary
from goldenpath.serving.metrics.base import MetricSource


class PromoterAtWork(Temporary):
    """Another promoter holds the service."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A model as a target serves it. The name comes from the digest: equal names, equal bytes."""

    model: str
    """The model's full reference, with its digest."""
    digest: str

    @property
    def name(self) -> str:
        """The name of its processes, clusters and counters."""
        return f"rev-{self.digest[:12]}"


@dataclass(frozen=True, kw_only=True)
class Split:
    """Who gets the requests: percent by revision name, and who gets copies of how many percent."""

    weights: dict[str, float] = field(default_factory=dict)
    mirror: str = ""
    mirror_percent: float = 0.0


class Target(Protocol):
    """One service at one place. Every method can be called again after a kill: create means adopt."""

    @property
    def url(self) -> str:
        """Where clients find the service; empty before it is routed."""

    def hold(self) -> AbstractContextManager[None]:
        """Makes the caller the service's one promoter until the context ends or the process dies.

        Raises:
            PromoterAtWork: Another promoter is at work.
        """

    def deploy(self, revision: Revision) -> None:
        """Starts a revision, or adopts it where it runs; it gets no requests by this."""

    def wait_ready(self, revision: Revision, *, within_s: float) -> str:
        """Waits until a revision can answer: an empty text, or why it cannot."""

    def ready(self, revision_name: str) -> bool:
        """Whether a revision can answer at this moment."""

    def warm_up(self, revision: Revision, payload: bytes) -> str:
        """Sends example requests straight to a revision: an empty text, or what went wrong."""

    def split(self) -> Split:
        """The split that is live."""

    def route(self, split: Split) -> None:
        """Makes a split live; returns when the proxy works by it, and those dropped have no requests left."""

    def retain(self, names: set[str]) -> None:
        """Stops every revision but those named; none of them may be in the split."""

    def source(self) -> MetricSource:
        """Where the arms' counters are read."""

    def stop(self) -> None:
        """Ends the service and every process of it."""
