"""The judge: a policy and two evaluations in, a judgement out; no input or output."""

from __future__ import annotations

from goldenpath.evaluation.case import Case, EvaluationData
from goldenpath.evaluation.pairs import Pairs, pair
from goldenpath.evaluation.policy import GatePolicy
from goldenpath.evaluation.verdict import Judgement, RuleResult, Verdict, concluded


def judge(policy: GatePolicy, candidate: EvaluationData, champion: EvaluationData | None) -> Judgement:
    """Judges a candidate, alone and against the champion on the same rows.

    The same input gives the same judgement. Two evaluations whose rows do not pair, or that are of
    different datasets, are refused: nothing can be told from comparing them.
    """
    case = _case(policy, candidate, champion)
    rules: list[RuleResult] = []
    if case.unpaired and (candidate.rows is not None or (champion and champion.rows is not None)):
        rules.append(RuleResult(name="same rows", verdict=Verdict.REFUSED, sentence=_unpaired(case.unpaired)))
    for rule in policy.rules:
        rules.extend(rule.judge(case))
    return concluded(rules, has_champion=champion is not None)


def paired(candidate: EvaluationData, champion: EvaluationData) -> Pairs | str:
    """The pairs of two evaluations, or why there are none."""
    if candidate.dataset != champion.dataset:
        return f"The candidate was evaluated on {candidate.dataset}, the champion on {champion.dataset}."
    if candidate.rows is None or champion.rows is None:
        whose = "candidate" if candidate.rows is None else "champion"
        return f"The {whose}'s evaluator returned no rows."
    return pair(candidate.rows, champion.rows)


def _case(policy: GatePolicy, candidate: EvaluationData, champion: EvaluationData | None) -> Case:
    pairs = "" if champion is None else paired(candidate, champion)
    return Case(
        candidate=candidate,
        champion=champion,
        pairs=pairs if isinstance(pairs, Pairs) else None,
        unpaired=pairs if isinstance(pairs, str) else "",
        confidence=policy.confidence,
    )


def _unpaired(why: str) -> str:
    return f"The rows of candidate and champion do not pair. {why}"
