"""One metric of two models on paired rows: the three-way verdict that several rules share."""

from __future__ import annotations

from goldenpath.evaluation.intervals import Estimate, estimate
from goldenpath.evaluation.intervals.choice import independent
from goldenpath.evaluation.intervals.estimate import rows_needed
from goldenpath.evaluation.metrics import METRICS, Metric, default_metric
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.rows import Rows
from goldenpath.evaluation.rules.base import AUTO, no_evidence, shown
from goldenpath.evaluation.verdict import RuleResult, Verdict


def metric_named(name: str, rows: Rows) -> Metric:
    """The metric of a rule; 'auto' is the default one for these rows."""
    return METRICS[default_metric(rows) if name == AUTO else name]


def measured(metric: Metric, pairs: Pairs, *, min_rows: int) -> Estimate | str:
    """The harm, or a sentence on what is missing."""
    count = independent(pairs)
    if count < min_rows:
        unit = "rows" if pairs.candidate.group is None else "groups of rows"
        return f"There are {count:,} {unit}; a comparison needs {min_rows:,}."
    return estimate(metric, pairs)


def margin_of(metric: Metric, margin: float, pairs: Pairs) -> float:
    """The margin in the metric's unit.

    Errors in the labels' unit have no scale of their own, so their margin is a share of the
    champion's value. That value's own uncertainty is left out: it moves the bound by ``margin``
    times its standard error, a hundredth of what is uncertain anyway.
    """
    return margin * metric.value(pairs.champion) if metric.relative else margin


def compared(
    name: str,
    metric: Metric,
    pairs: Pairs,
    found: Estimate | str,
    *,
    margin: float,
    alpha: float,
    slice_: str = "",
    refuses: bool | None = None,
) -> RuleResult:
    """The verdict on one harm.

    Passed if its upper bound is within the margin, refused if its lower bound is over it, else no
    evidence.

    Args:
        name: The rule's name.
        metric: What was measured.
        pairs: On which rows.
        found: The harm, or why there is none.
        margin: In the metric's unit.
        alpha: The error rate of each bound.
        slice_: The slice that the pairs are, for the sentence.
        refuses: Whether the lower bound counts as over the margin, where several harms were tested
            together; by default it is compared here.
    """
    if isinstance(found, str):
        return no_evidence(name, found, metric=metric.name, slice_=slice_)
    low, high = found.lower(alpha), found.upper(alpha)
    if refuses is None:
        refuses = low > margin
    needed = None
    if high <= margin:
        verdict = Verdict.PASSED
    elif refuses:
        verdict = Verdict.REFUSED
    else:
        verdict = Verdict.NO_EVIDENCE
        needed = rows_needed(found, alpha=alpha, margin=margin, n=pairs.n)
    mine, other = metric.value(pairs.candidate), metric.value(pairs.champion)
    bounds = sorted((metric.sign * low, metric.sign * high))
    return RuleResult(
        name=name,
        metric=metric.name,
        slice=slice_,
        candidate=mine,
        champion=other,
        delta=mine - other,
        low=bounds[0],
        high=bounds[1],
        margin=margin,
        n=pairs.n,
        needed=needed,
        method=found.method,
        verdict=verdict,
        sentence=_sentence(metric, verdict, mine, other, (low, high), margin, needed, pairs.n, slice_),
    )


def _sentence(
    metric: Metric,
    verdict: Verdict,
    mine: float,
    other: float,
    harm: tuple[float, float],
    margin: float,
    needed: int | None,
    n: int,
    slice_: str,
) -> str:
    where = f" where {slice_}" if slice_ else ""
    values = f"{metric.title}{where} is {shown(mine)}, the champion's {shown(other)}, on {n:,} rows"
    low, high = harm
    allowed = f"the margin is {margin:.2g}"
    if verdict is Verdict.PASSED:
        return f"{values}: at {'most' if high >= 0 else 'least'} {_worse(high)}, and {allowed}."
    if verdict is Verdict.REFUSED:
        return f"{values}: at least {_worse(low)}, and {allowed}."
    reach = f"{values}: between {_worse(low)} and {_worse(high)}, and {allowed}, so these rows do not decide."
    if needed is None:
        return f"{reach} The difference is at the margin: no number of rows would decide."
    return f"{reach} About {_rounded(needed):,} rows would."


def _rounded(count: int) -> int:
    """Two digits of a count, rounded up: more would promise too much."""
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // unit) * unit


def _worse(harm: float) -> str:
    return f"{abs(harm):.2g} {'worse' if harm >= 0 else 'better'}"
