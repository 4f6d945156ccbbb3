"""A metric must be at least so high."""

from __future__ import annotations

from typing import Literal

from pydantic import FiniteFloat

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.rules.base import BaseRule, StatedMetric, absent, no_evidence, shown
from goldenpath.evaluation.verdict import RuleResult, Verdict


class Floor(BaseRule):
    """``metric`` is ``at_least`` a number: the value itself is compared, with no interval."""

    kind: Literal["floor"] = "floor"
    metric: StatedMetric
    at_least: FiniteFloat

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares the candidate's value."""
        name = f"{self.metric} at least {shown(self.at_least)}"
        value = case.candidate.value(self.metric)
        reason = absent(self.metric, case.candidate, whose="candidate")
        if value is None or reason:
            return [no_evidence(name, reason, metric=self.metric)]
        passed = value >= self.at_least
        sentence = (
            f"{self.metric} is {shown(value)}, {'not ' if passed else ''}under the floor "
            f"of {shown(self.at_least)}."
        )
        return [
            RuleResult(
                name=name,
                metric=self.metric,
                candidate=value,
                margin=self.at_least,
                verdict=Verdict.PASSED if passed else Verdict.REFUSED,
                sentence=sentence,
            )
        ]
