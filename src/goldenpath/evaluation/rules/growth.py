"""A metric must not grow much over the champion's: size, latency, cost."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.rules.base import BaseRule, StatedMetric, absent, no_evidence, shown, unjudged
from goldenpath.evaluation.verdict import RuleResult, Verdict


class Growth(BaseRule):
    """``metric`` is at most ``at_most_times`` the champion's, such as 1.2 times its ``model_bytes``."""

    kind: Literal["growth"] = "growth"
    metric: StatedMetric
    at_most_times: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares the two values."""
        name = f"{self.metric} at most {shown(self.at_most_times)} times the champion's"
        if case.champion is None:
            return [unjudged(name, metric=self.metric)]
        reason = absent(self.metric, case.candidate, whose="candidate") or absent(
            self.metric, case.champion, whose="champion"
        )
        mine, other = case.candidate.value(self.metric), case.champion.value(self.metric)
        if mine is None or other is None or reason:
            return [no_evidence(name, reason, metric=self.metric)]
        if other <= 0:
            sentence = f"The champion's {self.metric} is {shown(other)}: nothing can be a multiple of it."
            return [no_evidence(name, sentence, metric=self.metric)]
        passed = mine <= self.at_most_times * other
        sentence = (
            f"{self.metric} is {shown(mine)}, {shown(mine / other)} times the champion's {shown(other)}: "
            f"{'not ' if passed else ''}over {shown(self.at_most_times)} times."
        )
        return [
            RuleResult(
                name=name,
                metric=self.metric,
                candidate=mine,
                champion=other,
                delta=mine - other,
                margin=(self.at_most_times - 1) * other,
                verdict=Verdict.PASSED if passed else Verdict.REFUSED,
                sentence=sentence,
            )
        ]
