"""Decides whether a candidate may replace the champion."""

from __future__ import annotations

from goldenpath import evaluation
from goldenpath.evaluation import GatePolicy, GateResult
from goldenpath.steps import component, current_step


@component(name="evaluation.gate")
def gate(*, candidate: str, champion: str = "", policy: GatePolicy = GatePolicy()) -> GateResult:
    """Judges a candidate's evaluation, alone and against the champion's on the same rows.

    Three-way: ``passed`` if every rule's harm is surely within its margin, ``refused`` if one is
    surely over it, else ``no_evidence`` with the rows that a verdict needs. Missing evidence never
    passes.

    Args:
        candidate: The document of the candidate's evaluation.
        champion: The document of the champion's evaluation; empty where there is no champion.
        policy: The rules.

    Returns:
        The verdict, each rule with its numbers in a sentence, and the address of the HTML report.
    """
    step = current_step()
    return evaluation.gate(
        candidate, champion, policy, store=step.store, report_key=step.folder + "report.html"
    )
