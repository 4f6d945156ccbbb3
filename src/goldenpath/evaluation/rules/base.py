"""What all rules share."""

from __future__ import annotations

import math
from abc import abstractmethod
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from goldenpath.evaluation.case import Case, EvaluationData
from goldenpath.evaluation.metrics import METRICS
from goldenpath.evaluation.verdict import RuleResult, Verdict

AUTO = "auto"


class BaseRule(BaseModel):
    """One rule of a policy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def judge(self, case: Case) -> list[RuleResult]:
        """The rule's findings; each has its own verdict."""


def _known(name: str) -> str:
    if name == AUTO or name in METRICS:
        return name
    near = get_close_matches(name, METRICS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"they are {AUTO}, {', '.join(METRICS)}"
    raise ValueError(f"rows do not have this metric; {hint}")


RowMetric = Annotated[str, AfterValidator(_known)]
"""A metric that can be compared pair by pair, or 'auto'."""

StatedMetric = Annotated[str, Field(min_length=1)]
"""A metric of the rows, or one that the evaluator returns."""


def unjudged(name: str, *, metric: str = "") -> RuleResult:
    """The finding of a comparison without a champion."""
    return RuleResult(
        name=name,
        metric=metric,
        verdict=Verdict.NOT_JUDGED,
        sentence="Not judged: there is no champion to compare with.",
    )


def no_evidence(name: str, sentence: str, *, metric: str = "", slice_: str = "") -> RuleResult:
    """The finding of a rule that has nothing to go by."""
    return RuleResult(name=name, metric=metric, slice=slice_, verdict=Verdict.NO_EVIDENCE, sentence=sentence)


def absent(metric: str, data: EvaluationData, *, whose: str) -> str:
    """Why there is no number to judge, or an empty string."""
    value = data.value(metric)
    if value is not None and math.isfinite(value):
        return ""
    if value is not None:
        return f"The {whose}'s {metric} is {value}."
    why = ""
    if metric in METRICS and data.rows is not None:
        why = f" ({METRICS[metric].missing(data.rows)})"
    return f"The {whose}'s evaluation has no {metric}{why}; it has {', '.join(data.available) or 'none'}."


def shown(value: float) -> str:
    """A number as sentences show it."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
