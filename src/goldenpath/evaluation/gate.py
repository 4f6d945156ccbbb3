"""The gate over stored evaluations: reads them, judges, keeps the verdict and its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from goldenpath import progress
from goldenpath.errors import InputError
from goldenpath.evaluation.case import EvaluationData
from goldenpath.evaluation.document import EvaluationDocument, get_evaluation
from goldenpath.evaluation.judge import judge
from goldenpath.evaluation.policy import GatePolicy
from goldenpath.evaluation.report import References, render
from goldenpath.evaluation.verdict import Judgement, RuleResult
from goldenpath.refs import Kind, parse
from goldenpath.store import Store, put_document

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """A verdict that is kept."""

    verdict: str
    """``passed``, ``refused`` or ``no_evidence``."""
    summary: str
    """Why, in a sentence."""
    rules: list[RuleResult]
    report: str
    """The URI of the HTML report."""
    gate: str
    """The URI of the document with the verdict, the policy and both evaluations."""


def gate(candidate: str, champion: str, policy: GatePolicy, *, store: Store, report_key: str) -> GateResult:
    """Judges a stored evaluation, against the champion's if there is one.

    Args:
        candidate: The document of the candidate's evaluation.
        champion: The document of the champion's; empty where there is no champion.
        policy: The rules.
        store: Where verdict and report are kept.
        report_key: The report's key in the store; the same evaluations give the same report.

    Raises:
        InputError: A URI names no evaluation, or an evaluation's rows cannot be read: a champion
            that cannot be compared with is never passed over.
        DataDamaged: A document's or the rows' bytes are not those of their digest.
    """
    if not candidate:
        raise InputError("The gate was given no candidate.", next_step="Give the URI of its evaluation.")
    mine = get_evaluation(candidate)
    other = get_evaluation(champion) if champion else None
    with progress.task("Judging the candidate", unit="steps", total=2) as advance:
        data = mine.data(), other.data() if other else None
        judgement = judge(policy, *data)
        advance(1)
        html = _report(judgement, policy, (mine, other), data, (candidate, champion))
        advance(1)
    store.put(report_key, html.encode())
    document = put_document(
        store,
        {
            "schema": SCHEMA,
            "kind": "gate",
            "verdict": judgement.verdict.value,
            "summary": judgement.summary,
            "rules": TypeAdapter(list[RuleResult]).dump_python(judgement.rules, mode="json"),
            "policy": policy.model_dump(mode="json"),
            "candidate": candidate,
            "champion": champion,
            "model": mine.model,
            "champion_model": other.model if other else "",
            "dataset": mine.dataset,
            "report": store.uri(report_key),
        },
    )
    progress.note(f"gate: {judgement.verdict.value}: {judgement.summary}")
    return GateResult(
        verdict=judgement.verdict.value,
        summary=judgement.summary,
        rules=judgement.rules,
        report=store.uri(report_key),
        gate=document,
    )


def _report(
    judgement: Judgement,
    policy: GatePolicy,
    documents: tuple[EvaluationDocument, EvaluationDocument | None],
    data: tuple[EvaluationData, EvaluationData | None],
    uris: tuple[str, str],
) -> str:
    mine, other = documents
    facts: dict[str, Any] = {
        "Candidate": mine.model,
        "Champion": other.model if other else "",
        "Dataset": mine.dataset,
        "Code": mine.source,
        "Evaluator": mine.evaluator,
        "Candidate's evaluation": uris[0],
        "Champion's evaluation": uris[1],
        "Candidate's rows": mine.rows,
        "Champion's rows": other.rows if other else "",
    }
    against = f" against {_short(other.model)}" if other else ""
    references = References(
        title=f"Gate of {_short(mine.model)}{against}",
        facts={name: value for name, value in facts.items() if value},
    )
    return render(judgement, policy, *data, references=references)


def _short(model: str) -> str:
    """A model's name and number; of the digest enough to tell two models apart."""
    found = parse(model, kind=Kind.MODELS)
    return found.short if found.number is not None else f"{found.name}@{(found.digest or '')[:10]}"
