"""The picture of a rollout: one HTML page without scripts or anything from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import jinja2

from goldenpath.serving.judge.record import Record
from goldenpath.serving.judge.verdict import Judgement, judge
from goldenpath.serving.plan import exposures
from goldenpath.serving.rollout.machine import Phase
from goldenpath.serving.rollout.records import Opening, Transition

_WIDTH, _HEIGHT, _POINTS = 640.0, 120.0, 20


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One metric's bounds over the looks of a step, in the picture's own units."""

    metric: str
    band: str
    """The polygon between the lower and the upper bounds."""
    margin_y: float
    zero_y: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One judged step as the page shows it."""

    title: str
    judgement: Judgement
    charts: tuple[Chart, ...]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What the canary got between two transitions."""

    label: str
    seconds: float
    percent: float


def report(
    opening: Opening,
    transitions: Sequence[Transition],
    records: Sequence[Record],
    *,
    outcome: str,
    reason: str,
) -> str:
    """The page's HTML; the same rollout gives the same page.

    Args:
        opening: How the rollout was opened.
        transitions: Its way.
        records: The records of its judged steps, in order.
        outcome: How it ended.
        reason: Why.
    """
    steps = exposures(opening.plan)
    views = [
        StepView(title=str(exposure), judgement=judge(record.spec, record.samples), charts=_charts(record))
        for exposure, record in zip(steps, records, strict=False)
    ]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("goldenpath.serving.rollout", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        opening=opening,
        transitions=transitions,
        bars=_bars(opening, transitions),
        steps=views,
        outcome=outcome,
        reason=reason,
        width=_WIDTH,
        height=_HEIGHT,
    )


def _bars(opening: Opening, transitions: Sequence[Transition]) -> list[Bar]:
    steps = exposures(opening.plan)
    bars: list[Bar] = []
    began: datetime = opening.opened_at
    phase, step = Phase.DEPLOY, 0
    for transition in transitions:
        in_step = phase is Phase.STEP
        bars.append(
            Bar(
                label=str(steps[step]) if in_step else phase.value.replace("_", " "),
                seconds=max(0.0, (transition.at - began).total_seconds()),
                percent=steps[step].percent if in_step else 0.0,
            )
        )
        began, phase, step = transition.at, transition.phase, transition.step
    return bars


def _charts(record: Record) -> tuple[Chart, ...]:
    """The bounds as they were at up to 20 looks of a step."""
    count = len(record.samples)
    looks = sorted({round(count * part / _POINTS) for part in range(1, _POINTS + 1)} - {0})
    judged = [(record.samples[look - 1].at, judge(record.spec, record.samples[:look])) for look in looks]
    judged = [(at, judgement) for at, judgement in judged if judgement.metrics]
    if not judged:
        return ()
    began, seconds = judged[0][0], max(judged[-1][0] - judged[0][0], 1e-9)
    charts = []
    for place, metric in enumerate(record.spec.metrics):
        points = [(at, found.metrics[place].low, found.metrics[place].high) for at, found in judged]
        # Early bounds are as wide as all rates: the last ones tell the scale.
        reach = max(2 * metric.margin, *(2 * abs(bound) for bound in points[-1][1:]), 0.01)

        def y(value: float, reach: float = reach) -> float:
            return round(_HEIGHT / 2 - _HEIGHT / 2 * min(max(value / reach, -1), 1), 1)

        lows = [f"{_WIDTH * (at - began) / seconds:.1f},{y(low)}" for at, low, _ in points]
        highs = [f"{_WIDTH * (at - began) / seconds:.1f},{y(high)}" for at, _, high in points]
        charts.append(
            Chart(
                metric=metric.name,
                band=" ".join([*lows, *reversed(highs)]),
                margin_y=y(metric.margin),
                zero_y=y(0.0),
                seconds=seconds,
            )
        )
    return tuple(charts)
