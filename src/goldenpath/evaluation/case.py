"""The case that rules judge: what was measured of a candidate, and of the champion beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goldenpath.evaluation.metrics import METRICS, computable
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import Rows


@dataclass(frozen=True, kw_only=True)
class EvaluationData:
    """One model's evaluation, in memory."""

    rows: Rows | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    """What the evaluator said, and what was measured beside it (``model_bytes``)."""
    signature: Mapping[str, Any] | None = None
    """The model's inputs and outputs by name, where they are recorded."""
    model: str = ""
    dataset: str = ""

    def value(self, metric: str) -> float | None:
        """A metric: from the rows where they decide it, else as the evaluator said; None if absent."""
        if self.rows is not None and metric in METRICS and not METRICS[metric].missing(self.rows):
            return METRICS[metric].value(self.rows)
        return self.metrics.get(metric)

    @property
    def available(self) -> list[str]:
        """The names of all metrics there are."""
        return sorted({*self.metrics, *(computable(self.rows) if self.rows is not None else ())})


@dataclass(frozen=True, kw_only=True)
class Case:
    """Candidate and champion, paired where they pair."""

    candidate: EvaluationData
    champion: EvaluationData | None
    pairs: Pairs | None
    unpaired: str
    """Why there are no pairs, in a sentence; empty where there are, or no champion."""
    confidence: float

    @property
    def alpha(self) -> float:
        """The error rate of each bound."""
        return 1 - self.confidence
