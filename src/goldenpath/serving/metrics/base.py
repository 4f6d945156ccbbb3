"""Where the counters of both arms come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from goldenpath.serving.judge.samples import Arm
from goldenpath.serving.plan import Metric


class Unreadable(Exception):
    """The source gave no usable answer; the message says why. A look without evidence, no fault of ours."""


class MetricSource(Protocol):
    """Reads cumulative counters by revision."""

    def read(self, revision_name: str, metrics: Sequence[Metric]) -> Arm:
        """One revision's counters as they are now.

        Raises:
            Unreadable: The source is away, or lacks the revision or a metric.
        """
