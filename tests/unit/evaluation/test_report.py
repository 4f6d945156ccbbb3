"""The report: self-contained, the same each time, and nothing in it but text from rows and names."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from goldenpath.evaluation import EvaluationData, GatePolicy, from_table, judge
from goldenpath.evaluation.report import References, render
from goldenpath.evaluation.rules import NoRegression, Slices

HOSTILE = '<script>alert("x")</script>\'"&$\\frac{}\x00\u202e'


class Page(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def binary(n: int, seed: int, names: tuple[str, str] = ("good", "spam")) -> EvaluationData:
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    score = np.clip(label * 0.4 + rng.random(n) * 0.6, 0, 1)
    words = np.array(names)
    table = {
        "id": [f"{names[0]}-{number}" for number in range(n)],
        "label": words[label],
        "prediction": words[(score > 0.5).astype(int)],
        "score": score,
        "slice_country": np.array([names[0], "FR"])[np.arange(n) // 2 % 2],
    }
    return EvaluationData(rows=from_table(pa.table(table), where="rows"), metrics={names[1]: 1.0})


def numbers(n: int, seed: int) -> EvaluationData:
    label = np.linspace(0, 1, n)
    prediction = label + np.random.default_rng(seed).normal(size=n)
    table = {"id": np.arange(n), "label": label, "prediction": prediction}
    return EvaluationData(rows=from_table(pa.table(table), where="rows"))


def many_classes(n: int, seed: int) -> EvaluationData:
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 40
    prediction = np.where(rng.random(n) < 0.8, label, (label + 1) % 40)
    table = {"id": np.arange(n), "label": label, "prediction": prediction}
    return EvaluationData(rows=from_table(pa.table(table), where="rows"))


def report(mine: EvaluationData, other: EvaluationData | None, title: str = "Gate of a") -> str:
    rules = GatePolicy(rules=(NoRegression(), Slices()))
    references = References(title=title, facts={"Candidate": title})
    return render(judge(rules, mine, other), rules, mine, other, references=references)


@pytest.mark.parametrize("champion", [True, False])
@pytest.mark.parametrize("kind", [binary, numbers, many_classes])
def test_a_report_needs_nothing_else_and_is_the_same_each_time(kind: Any, champion: bool) -> None:
    other = kind(600, 2) if champion else None
    html = report(kind(600, 1), other)
    assert html == report(kind(600, 1), other)
    assert len(html) < 2_000_000
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "img", "object", "a", "form"}
    # SVG's own parts refer to each other by '#'; nothing refers to anything else.
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html
    policy = next(a for t, a in page.tags if t == "meta" and a.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_hostile_names_are_text() -> None:
    mine, other = (binary(600, seed, (HOSTILE, "spam" + HOSTILE)) for seed in (1, 2))
    page = Page(report(mine, other, title=HOSTILE))
    assert "script" not in {tag for tag, _ in page.tags}
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    assert page.text.count('<script>alert("x")</script>') > 10
    assert "\x00" not in page.text


def test_the_verdict_comes_first_and_every_figure_has_a_text() -> None:
    html = report(binary(600, 1), binary(600, 2))
    page = Page(html)
    assert html.index('class="verdict') < html.index("<h2>")
    figures = [attributes for tag, attributes in page.tags if tag == "figure" and attributes.get("role")]
    assert [str(figure["aria-label"]).partition(":")[0] for figure in figures] == [
        "ROC curves",
        "Precision over recall",
        "Right answers over probabilities",
    ]
    for heading in ("Rules", "Metrics", "Confusion", "Slices, the worst first", "From right to wrong"):
        assert f"<h2>{heading}</h2>" in html


def test_colours_follow_the_page() -> None:
    html = report(binary(600, 1), binary(600, 2))
    svg = html[html.index("<svg") : html.rindex("</svg>")]
    assert "var(--candidate)" in svg
    assert not set(re.findall(r"#[0-9a-f]{6}", svg)) - {"#ffffff", "#000000"}
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_slices_are_listed_with_the_worst_first() -> None:
    n = 800
    label = np.arange(n) % 2
    part = np.repeat(["a", "b", "c", "d"], n // 4)
    right = np.ones(n, dtype=bool)
    right[200:220] = False
    right[400:450] = False
    table = {"id": np.arange(n), "label": label, "slice_s": part}
    mine, other = (
        EvaluationData(rows=from_table(pa.table({**table, "prediction": prediction}), where="rows"))
        for prediction in (np.where(right, label, 1 - label), label)
    )
    html = report(mine, other)
    table_part = html[html.index("Slices, the worst first") :]
    places = [table_part.index(f"<td>s={name}</td>") for name in "cbad"]
    assert places[0] < places[1] < min(places[2:])
    examples = html[html.index("From right to wrong") :]
    assert "worse than the champion on 70 rows, better on 0. 25 are shown." in examples


def test_a_report_without_rows_has_its_rules() -> None:
    mine = EvaluationData(metrics={"bleu": 20.0})
    page = Page(report(mine, None))
    assert "bleu" in page.text
    assert "svg" not in {tag for tag, _ in page.tags}
