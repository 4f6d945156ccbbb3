"""A metric must not be worse than the champion's by more than a margin."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.rules.base import BaseRule, RowMetric, no_evidence, unjudged
from goldenpath.evaluation.rules.comparison import compared, margin_of, measured, metric_named
from goldenpath.evaluation.verdict import RuleResult


class NoRegression(BaseRule):
    """The candidate is not worse on the same rows, at the policy's confidence."""

    kind: Literal["no_regression"] = "no_regression"
    metric: RowMetric = "auto"
    """A metric of the rows; 'auto' is accuracy for classes, the mean absolute error for numbers."""
    margin: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.01
    """How much worse is allowed; for errors in the labels' unit, as a share of the champion's."""
    min_rows: Annotated[int, Field(ge=2)] = 50
    """Fewer rows (or groups) are no evidence: no interval can be trusted on them."""

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares all pairs at once."""
        name = f"no regression in {self.metric}"
        if case.champion is None:
            return [unjudged(name, metric=self.metric)]
        if case.pairs is None:
            return [no_evidence(name, f"Not compared: {case.unpaired}", metric=self.metric)]
        metric = metric_named(self.metric, case.pairs.candidate)
        found = measured(metric, case.pairs, min_rows=self.min_rows)
        return [
            compared(
                f"no regression in {metric.name}",
                metric,
                case.pairs,
                found,
                margin=margin_of(metric, self.margin, case.pairs),
                alpha=case.alpha,
            )
        ]
