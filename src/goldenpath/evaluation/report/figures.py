"""The report's figures: matplotlib SVG, in the page's own colours so that they follow its theme."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldenpath.evaluation.case import EvaluationData
from goldenpath.evaluation.metrics import METRICS, is_positive, positive_score
from goldenpath.evaluation.report import curves
from goldenpath.evaluation.rows import Rows, numbers_of

# Colours that stand for the page's: each is replaced by a CSS variable, which dark mode and print set.
_INK, _FAINT, _CANDIDATE, _CHAMPION = "#010101", "#020202", "#030303", "#040404"
_VARIABLES = {_INK: "--ink", _FAINT: "--line", _CANDIDATE: "--candidate", _CHAMPION: "--champion"}
# Any: matplotlib types the keys as one literal of them all.
_STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.grid": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "text.parse_math": False,
}
_BINS = 40


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure. ``svg`` is made here from numbers alone, so the template may trust it."""

    title: str
    alt: str
    svg: Any


Series = Sequence[tuple[str, Rows, str]]
"""Whose rows, and in which colour; the champion first, so that the candidate is drawn over it."""


def draw(candidate: EvaluationData, champion: EvaluationData | None) -> list[Figure]:
    """All figures that the rows allow."""
    series = [
        (whose, data.rows, colour)
        for whose, data, colour in (
            ("Champion", champion, _CHAMPION),
            ("Candidate", candidate, _CANDIDATE),
        )
        if data is not None and data.rows is not None
    ]
    if not series or candidate.rows is None:
        return []
    found = []
    ranked = [item for item in series if not METRICS["roc_auc"].missing(item[1])]
    if ranked:
        found += [_roc(ranked), _precision_recall(ranked)]
    probable = [item for item in series if not METRICS["calibration_error"].missing(item[1])]
    if probable:
        found.append(_calibration(probable))
    numeric = [item for item in series if not item[1].classes]
    if numeric:
        found.append(_errors(numeric))
    return found


def _roc(series: Series) -> Figure:
    alts = []

    def plot(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=_FAINT, linewidth=1.2, linestyle="--")
        for whose, rows, colour in series:
            fall_out, recall = curves.roc(positive_score(rows), is_positive(rows))
            area = METRICS["roc_auc"].value(rows)
            axes.plot(fall_out, recall, color=colour, linewidth=1.8, label=f"{whose}, area {area:.4f}")
            alts.append(f"{whose.lower()}, area {area:.4f}")
        axes.set(xlabel="False positive rate", ylabel="True positive rate", xlim=(0, 1), ylim=(0, 1.01))
        axes.legend(loc="best")

    svg = _svg("roc", plot)
    return Figure(title="ROC", alt=f"ROC curves: {'; '.join(alts)}.", svg=svg)


def _precision_recall(series: Series) -> Figure:
    alts = []

    def plot(axes: Any) -> None:
        for whose, rows, colour in series:
            recall, precision = curves.precision_recall(positive_score(rows), is_positive(rows))
            average = METRICS["average_precision"].value(rows)
            axes.plot(recall, precision, color=colour, linewidth=1.8, label=f"{whose}, average {average:.4f}")
            alts.append(f"{whose.lower()}, average precision {average:.4f}")
        axes.set(xlabel="Recall", ylabel="Precision", xlim=(0, 1), ylim=(0, 1.01))
        axes.legend(loc="best")

    svg = _svg("precision-recall", plot)
    return Figure(title="Precision and recall", alt=f"Precision over recall: {'; '.join(alts)}.", svg=svg)


def _calibration(series: Series) -> Figure:
    alts = []

    def plot(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=_FAINT, linewidth=1.2, linestyle="--")
        for whose, rows, colour in series:
            said, seen, counts = curves.reliability(rows)
            error = METRICS["calibration_error"].value(rows)
            axes.plot(said, seen, color=colour, linewidth=1.2, label=f"{whose}, error {error:.4f}")
            axes.scatter(
                said,
                seen,
                s=12 + 90 * counts / counts.max(),
                color=colour,
                linewidth=0,
                clip_on=False,
                zorder=3,
            )
            alts.append(f"{whose.lower()}, expected calibration error {error:.4f}")
        axes.set(
            xlabel="Probability of the predicted class",
            ylabel="Share that is right",
            xlim=(0, 1),
            ylim=(0, 1.01),
        )
        axes.legend(loc="best")

    svg = _svg("calibration", plot)
    return Figure(title="Calibration", alt=f"Right answers over probabilities: {'; '.join(alts)}.", svg=svg)


def _errors(series: Series) -> Figure:
    alts = []
    errors = [(whose, _difference(rows), colour) for whose, rows, colour in series]
    everything = np.concatenate([values for _, values, _ in errors])
    low, high = np.quantile(everything, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)

    def plot(axes: Any) -> None:
        for whose, values, colour in errors:
            counts, _ = np.histogram(values, edges)
            axes.stairs(counts, edges, color=colour, linewidth=1.8, label=whose)
            alts.append(f"{whose.lower()}, median {np.median(values):.4g}")
        axes.set(xlabel="Prediction minus label", ylabel="Rows")
        axes.legend(loc="best")

    svg = _svg("errors", plot)
    return Figure(title="Errors", alt=f"Histogram of errors: {'; '.join(alts)}.", svg=svg)


def _difference(rows: Rows) -> np.ndarray:
    return numbers_of(rows.prediction) - numbers_of(rows.label)


def _svg(name: str, plot: Any) -> Any:
    """Draws one figure; nothing in it depends on the clock or on chance."""
    import matplotlib as mpl
    from markupsafe import Markup
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(_STYLE | {"svg.hashsalt": name}):
        canvas = Canvas(figsize=(4.6, 3.7), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        axes.tick_params(pad=6)
        plot(axes)
        sink = io.StringIO()
        canvas.savefig(sink, format="svg", transparent=True, metadata={"Date": None})
    svg = sink.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return Markup(svg)  # noqa: S704  (drawn here from numbers and fixed words; no text of a user is in it)
