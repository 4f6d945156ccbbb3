"""A metric must be at most so high: errors, size, latency, cost."""

from __future__ import annotations

from typing import Literal

from pydantic import FiniteFloat

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.rules.base import BaseRule, StatedMetric, absent, no_evidence, shown
from goldenpath.evaluation.verdict import RuleResult, Verdict


class Ceiling(BaseRule):
    """``metric`` is ``at_most`` a number: the value itself is compared, with no interval."""

    kind: Literal["ceiling"] = "ceiling"
    metric: StatedMetric
    at_most: FiniteFloat

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares the candidate's value."""
        name = f"{self.metric} at most {shown(self.at_most)}"
        value = case.candidate.value(self.metric)
        reason = absent(self.metric, case.candidate, whose="candidate")
        if value is None or reason:
            return [no_evidence(name, reason, metric=self.metric)]
        passed = value <= self.at_most
        sentence = (
            f"{self.metric} is {shown(value)}, {'not ' if passed else ''}over the ceiling "
            f"of {shown(self.at_most)}."
        )
        return [
            RuleResult(
                name=name,
                metric=self.metric,
                candidate=value,
                margin=self.at_most,
                verdict=Verdict.PASSED if passed else Verdict.REFUSED,
                sentence=sentence,
            )
        ]
