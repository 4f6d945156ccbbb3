"""The candidate's probabilities must be as honest as the champion's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.rules.base import BaseRule
from goldenpath.evaluation.rules.no_regression import NoRegression
from goldenpath.evaluation.verdict import RuleResult


class Calibration(BaseRule):
    """The expected calibration error is not worse than the champion's by more than a margin."""

    kind: Literal["calibration"] = "calibration"
    margin: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.02
    min_rows: Annotated[int, Field(ge=2)] = 200
    """A bin of the error holds few rows where there are few in all."""

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares the calibration errors of all pairs."""
        same = NoRegression(metric="calibration_error", margin=self.margin, min_rows=self.min_rows)
        return same.judge(case)
