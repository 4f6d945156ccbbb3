"""From a judgement to HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from goldenpath.evaluation.case import EvaluationData
from goldenpath.evaluation.judge import paired
from goldenpath.evaluation.pairs import Pairs
from goldenpath.evaluation.policy import GatePolicy
from goldenpath.evaluation.report import figures, tables
from goldenpath.evaluation.text import printable
from goldenpath.evaluation.verdict import Judgement, Verdict

_COMMAND = "goldenpath gate --candidate candidate.parquet{champion} --policy policy.yaml"


@dataclass(frozen=True, kw_only=True)
class References:
    """What a reader needs to find the evidence again."""

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    """References by what they are of."""


def render(
    judgement: Judgement,
    policy: GatePolicy,
    candidate: EvaluationData,
    champion: EvaluationData | None,
    *,
    references: References,
) -> str:
    """The whole page. The same input gives the same bytes.

    Everything that comes from rows, names or references is text to the template, which escapes it.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("goldenpath.evaluation.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = paired(candidate, champion) if champion is not None else ""
    pairs = found if isinstance(found, Pairs) else None
    has_champion = champion is not None
    return environment.get_template("report.html.j2").render(
        title=references.title,
        verdict=judgement.verdict.value,
        words={verdict.value: verdict.words for verdict in Verdict},
        summary=judgement.summary,
        confidence=policy.confidence,
        rules=[rule for rule in judgement.rules if not rule.slice],
        slice_counts=tables.slice_counts(judgement),
        metrics=tables.metrics(judgement, candidate, champion, pairs, alpha=1 - policy.confidence),
        slices=tables.slices(judgement, candidate, pairs),
        confusions=tables.confusions(candidate, champion),
        changes=tables.changes(pairs) if pairs else None,
        figures=figures.draw(candidate, champion),
        facts=references.facts,
        has_champion=has_champion,
        policy=yaml.safe_dump(policy.model_dump(mode="json"), sort_keys=False, allow_unicode=True),
        command=_COMMAND.format(champion=" --champion champion.parquet" if has_champion else ""),
    )
