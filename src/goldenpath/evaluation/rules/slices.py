"""No slice of the rows may be worse than the champion's by more than a margin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.intervals import Estimate
from goldenpath.evaluation.intervals.choice import independent
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rules.base import BaseRule, RowMetric, no_evidence, unjudged
from goldenpath.evaluation.rules.comparison import compared, margin_of, measured, metric_named
from goldenpath.evaluation.verdict import RuleResult, Verdict


class Slices(BaseRule):
    """Each value of each ``slice_*`` column is compared alone.

    To pass, each slice's upper bound must be within the margin. To refuse, its lower bound must be over
    it after Holm's correction (1979) for the number of slices, so that many slices refuse an equal model
    no more often than one would.
    """

    kind: Literal["slices"] = "slices"
    metric: RowMetric = "auto"
    margin: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.05
    """As for no_regression; wider by default, for a slice has fewer rows."""
    min_rows: Annotated[int, Field(ge=2)] = 100
    """A slice with fewer rows (or groups) is not judged; if all have, there is no evidence."""
    columns: tuple[str, ...] = ()
    """The columns to judge, without ``slice_``; all by default."""

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares the pairs of each slice."""
        name = f"no regression in {self.metric} by slice"
        if case.champion is None:
            return [unjudged(name, metric=self.metric)]
        if case.pairs is None:
            return [no_evidence(name, f"Not compared: {case.unpaired}", metric=self.metric)]
        there = case.pairs.candidate.slices
        missing = [column for column in self.columns if column not in there]
        if missing or not there:
            what = f"no column 'slice_{missing[0]}'" if missing else "no column 'slice_…'"
            has = f"; it has {', '.join(there)}" if there else ""
            return [no_evidence(name, f"The rows have {what}{has}.", metric=self.metric)]
        parts = list(slices_of(case.pairs, self.columns or tuple(there)))
        large = [(label, pairs) for label, pairs in parts if independent(pairs) >= self.min_rows]
        small = len(parts) - len(large)
        if not large:
            sentence = f"None of the {len(parts)} slices has the {self.min_rows:,} rows that a verdict needs."
            return [no_evidence(name, sentence, metric=self.metric)]
        results = self._compare(large, case, metric_named(self.metric, case.pairs.candidate).name)
        if small:
            sentence = (
                f"{small} of {len(parts)} slices have under {self.min_rows:,} rows and were not judged."
            )
            results.append(RuleResult(name=name, verdict=Verdict.NOT_JUDGED, sentence=sentence))
        return results

    def _compare(self, parts: list[tuple[str, Pairs]], case: Case, name: str) -> list[RuleResult]:
        metric = metric_named(name, parts[0][1].candidate)
        found = [measured(metric, pairs, min_rows=self.min_rows) for _, pairs in parts]
        margins = [
            margin_of(metric, self.margin, pairs) if not isinstance(harm, str) else self.margin
            for (_, pairs), harm in zip(parts, found, strict=True)
        ]
        refused = _holm(found, margins, alpha=case.alpha)
        return [
            compared(
                f"no regression in {name} by slice",
                metric,
                pairs,
                harm,
                margin=margin,
                alpha=case.alpha,
                slice_=label,
                refuses=refuses,
            )
            for (label, pairs), harm, margin, refuses in zip(parts, found, margins, refused, strict=True)
        ]


def slices_of(pairs: Pairs, columns: tuple[str, ...]) -> Iterator[tuple[str, Pairs]]:
    """Each slice's name, ``column=value``, and its pairs; no slice is empty."""
    for column in columns:
        slices = pairs.candidate.slices[column]
        order = np.argsort(slices.codes, kind="stable")
        ends = np.cumsum(np.bincount(slices.codes, minlength=len(slices.values)))
        for value, end, start in zip(slices.values, ends, np.append(0, ends[:-1]), strict=True):
            yield f"{column}={value}", pairs.take(order[start:end])


def _holm(found: list[Estimate | str], margins: list[float], *, alpha: float) -> list[bool]:
    """Which harms are over their margins, all tested together at one error rate."""
    tested = [
        (harm.p_over(margin), place)
        for place, (harm, margin) in enumerate(zip(found, margins, strict=True))
        if not isinstance(harm, str)
    ]
    refused = [False] * len(found)
    for rank, (p, place) in enumerate(sorted(tested)):
        if p > alpha / (len(tested) - rank):
            break
        refused[place] = True
    return refused
