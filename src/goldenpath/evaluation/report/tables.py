"""The report's tables, as plain values for the template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldenpath.evaluation.case import EvaluationData
from goldenpath.evaluation.intervals import estimate
from goldenpath.evaluation.metrics import METRICS, Metric, computable, default_metric
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import Categories, Rows, codes_of
from goldenpath.evaluation.rules.slices import slices_of
from goldenpath.evaluation.text import shortened
from goldenpath.evaluation.verdict import Judgement, RuleResult

MOST_CLASSES = 12
MOST_SLICES = 60
MOST_EXAMPLES = 25
MOST_CONFUSIONS = 15
INTERVALS_UP_TO = 200_000
"""Above so many rows only the intervals that rules asked for are shown."""


@dataclass(frozen=True, kw_only=True)
class MetricLine:
    """One metric of both models. ``better`` is None where nobody knows the direction."""

    title: str
    candidate: str
    champion: str = ""
    delta: str = ""
    interval: str = ""
    better: bool | None = None


@dataclass(frozen=True, kw_only=True)
class SliceLine:
    """One slice."""

    name: str
    verdict: str
    n: int
    candidate: str
    champion: str = ""
    delta: str = ""
    interval: str = ""


@dataclass(frozen=True, kw_only=True)
class SliceTable:
    """Slices, the worst first."""

    metric: str
    judged: bool
    lines: list[SliceLine]
    left_out: int


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """How often each class (rows) was taken for each (columns); ``shares`` are of the row."""

    whose: str
    classes: list[str]
    counts: list[list[int]]
    shares: list[list[float]]
    pairs: list[tuple[str, str, int]]
    """Instead of a matrix of many classes: label, prediction, rows."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Examples on which the candidate is worse than the champion."""

    title: str
    total: int
    gained: int
    columns: list[str]
    lines: list[list[str]]


def text(value: Any) -> str:
    """A value as the report's tables show it."""
    return shortened(str(value))


def number(value: float | None, *, sign: bool = False) -> str:
    """A number for people; empty for None. A minus is a minus sign."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    shown = f"{value:+.3g}" if sign else f"{value:.4g}"
    if abs(value) >= 10_000:
        shown = f"{value:+,.0f}" if sign else f"{value:,.0f}"
    return shown.replace("-", "\N{MINUS SIGN}") if "e" not in shown else shown


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None else f"{number(low, sign=True)} to {number(high, sign=True)}"


def slice_counts(judgement: Judgement) -> list[tuple[str, int]]:
    """How many slices have each verdict."""
    return list(Counter(rule.verdict.value for rule in judgement.rules if rule.slice).items())


def metrics(
    judgement: Judgement,
    candidate: EvaluationData,
    champion: EvaluationData | None,
    pairs: Pairs | None,
    *,
    alpha: float,
) -> list[MetricLine]:
    """Every metric of the rows, then what the evaluator said beside."""
    judged = {rule.metric: rule for rule in judgement.rules if rule.low is not None and not rule.slice}
    rows_metrics = computable(candidate.rows) if candidate.rows is not None else {}
    lines = [
        _metric_line(metric, candidate, champion, pairs, judged.get(name), alpha)
        for name, metric in rows_metrics.items()
    ]
    for name, value in sorted(candidate.metrics.items()):
        if name not in rows_metrics:
            other = champion.value(name) if champion else None
            delta = None if other is None else value - other
            lines.append(
                MetricLine(
                    title=text(name),
                    candidate=number(value),
                    champion=number(other),
                    delta=number(delta, sign=True),
                )
            )
    return lines


def _metric_line(
    metric: Metric,
    candidate: EvaluationData,
    champion: EvaluationData | None,
    pairs: Pairs | None,
    judged: RuleResult | None,
    alpha: float,
) -> MetricLine:
    value = candidate.value(metric.name)
    other = champion.value(metric.name) if champion else None
    if other is None or value is None:
        return MetricLine(title=metric.title, candidate=number(value))
    low, high = (judged.low, judged.high) if judged else _bounds(metric, pairs, alpha)
    return MetricLine(
        title=metric.title,
        candidate=number(value),
        champion=number(other),
        delta=number(value - other, sign=True),
        interval=_interval(low, high),
        better=None if value == other else (value > other) == metric.higher_is_better,
    )


def _bounds(metric: Metric, pairs: Pairs | None, alpha: float) -> tuple[float | None, float | None]:
    if pairs is None or not 2 <= pairs.n <= INTERVALS_UP_TO:
        return None, None
    found = estimate(metric, pairs)
    if isinstance(found, str):
        return None, None
    low, high = sorted((metric.sign * found.lower(alpha), metric.sign * found.upper(alpha)))
    return low, high


def slices(judgement: Judgement, candidate: EvaluationData, pairs: Pairs | None) -> SliceTable | None:
    """The slices that were judged, else all slices with their values; the worst first."""
    judged = [rule for rule in judgement.rules if rule.slice]
    if judged:
        metric = METRICS[judged[0].metric]
        ordered = sorted(judged, key=lambda rule: _harm(metric, rule.delta), reverse=True)
        lines = [_judged_line(rule) for rule in ordered]
    elif pairs is not None and pairs.candidate.slices:
        metric = METRICS[default_metric(pairs.candidate)]
        lines = _compared_lines(metric, pairs)
    elif candidate.rows is not None and candidate.rows.slices:
        metric = METRICS[default_metric(candidate.rows)]
        lines = _lone_lines(metric, candidate.rows)
    else:
        return None
    return SliceTable(
        metric=metric.title,
        judged=bool(judged),
        lines=lines[:MOST_SLICES],
        left_out=max(0, len(lines) - MOST_SLICES),
    )


def _harm(metric: Metric, delta: float | None) -> float:
    return float("inf") if delta is None else metric.sign * delta


def _judged_line(rule: RuleResult) -> SliceLine:
    return SliceLine(
        name=text(rule.slice),
        verdict=rule.verdict.value,
        n=rule.n or 0,
        candidate=number(rule.candidate),
        champion=number(rule.champion),
        delta=number(rule.delta, sign=True),
        interval=_interval(rule.low, rule.high),
    )


def _compared_lines(metric: Metric, pairs: Pairs) -> list[SliceLine]:
    found = []
    for name, part in slices_of(pairs, tuple(pairs.candidate.slices)):
        mine, other = metric.value(part.candidate), metric.value(part.champion)
        line = SliceLine(
            name=text(name),
            verdict="",
            n=part.n,
            candidate=number(mine),
            champion=number(other),
            delta=number(mine - other, sign=True),
        )
        found.append((metric.sign * (mine - other), line))
    return [line for _, line in sorted(found, key=lambda item: item[0], reverse=True)]


def _lone_lines(metric: Metric, rows: Rows) -> list[SliceLine]:
    found = []
    for name, part in slices_of(Pairs(candidate=rows, champion=rows), tuple(rows.slices)):
        value = metric.value(part.candidate)
        line = SliceLine(name=text(name), verdict="", n=part.n, candidate=number(value))
        found.append((metric.sign * value, line))
    return [line for _, line in sorted(found, key=lambda item: item[0], reverse=True)]


def confusions(candidate: EvaluationData, champion: EvaluationData | None) -> list[Confusion]:
    """The confusion matrices of both models."""
    models = [("Candidate", candidate), ("Champion", champion)]
    return [
        _confusion(whose, data.rows)
        for whose, data in models
        if data is not None and data.rows is not None and data.rows.classes
    ]


def _confusion(whose: str, rows: Rows) -> Confusion:
    k = len(rows.classes)
    names = [text(value) for value in rows.classes]
    joint, counts = np.unique(
        codes_of(rows.label).astype(np.int64) * k + codes_of(rows.prediction), return_counts=True
    )
    if k > MOST_CLASSES:
        wrong = [
            (names[code // k], names[code % k], int(count))
            for code, count in zip(joint, counts, strict=True)
            if code // k != code % k
        ]
        top = sorted(wrong, key=lambda item: (-item[2], item[0], item[1]))[:MOST_CONFUSIONS]
        return Confusion(whose=whose, classes=names, counts=[], shares=[], pairs=top)
    flat = np.zeros(k * k, dtype=np.int64)
    flat[joint] = counts
    matrix = flat.reshape(k, k)
    shares = matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))
    return Confusion(
        whose=whose, classes=names, counts=matrix.tolist(), shares=shares.round(4).tolist(), pairs=[]
    )


def changes(pairs: Pairs) -> Changes:
    """The examples that the champion has right and the candidate wrong, or whose error grew most."""
    metric = METRICS[default_metric(pairs.candidate)]
    harm = metric.sign * (metric.each(pairs.candidate) - metric.each(pairs.champion))
    worse, better = np.flatnonzero(harm > 0), np.flatnonzero(harm < 0)
    worst = worse[np.argsort(-harm[worse], kind="stable")][:MOST_EXAMPLES]
    names = list(pairs.candidate.slices)
    return Changes(
        title="From right to wrong" if pairs.candidate.classes else "Where the error grew most",
        total=len(worse),
        gained=len(better),
        columns=["id", "label", "champion", "candidate", *(text(name) for name in names)],
        lines=[list(_example(pairs, int(row), names)) for row in worst],
    )


def _example(pairs: Pairs, row: int, slices: Sequence[str]) -> Iterator[str]:
    yield text(pairs.candidate.ids[row].as_py())
    for column in (pairs.candidate.label, pairs.champion.prediction, pairs.candidate.prediction):
        if isinstance(column, Categories):
            yield text(column.values[column.codes[row]])
        else:
            yield number(float(column[row]))
    for name in slices:
        values = pairs.candidate.slices[name]
        yield text(values.values[values.codes[row]])
