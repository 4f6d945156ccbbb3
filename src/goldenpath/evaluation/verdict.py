"""Verdicts: what a rule found, and what all rules come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The answer of a gate or of one rule."""

    PASSED = "passed"
    REFUSED = "refused"
    NO_EVIDENCE = "no_evidence"
    NOT_JUDGED = "not_judged"
    """Of a rule alone: it does not apply, as there is no champion, or the slice is small."""

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """One rule's numbers, and its sentence.

    ``delta`` is candidate minus champion in the metric's unit; ``low`` and ``high`` are its one-sided
    bounds at the policy's confidence. ``margin`` is in the same unit. None where a number does not
    exist.
    """

    name: str
    verdict: Verdict
    sentence: str
    metric: str = ""
    slice: str = ""
    candidate: float | None = None
    champion: float | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    n: int | None = None
    needed: int | None = None
    """For no evidence: about how many rows a verdict needs."""
    method: str = ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The answer over all rules."""

    verdict: Verdict
    summary: str
    rules: list[RuleResult]


def concluded(rules: Sequence[RuleResult], *, has_champion: bool) -> Judgement:
    """Refused if one rule refuses; else no evidence if one has none or nothing was judged; else passed."""
    refused = [rule for rule in rules if rule.verdict is Verdict.REFUSED]
    unsure = [rule for rule in rules if rule.verdict is Verdict.NO_EVIDENCE]
    passed = [rule for rule in rules if rule.verdict is Verdict.PASSED]
    if refused:
        verdict, summary = Verdict.REFUSED, _and_more(refused)
    elif unsure:
        verdict, summary = Verdict.NO_EVIDENCE, _and_more(unsure)
    elif passed:
        verdict = Verdict.PASSED
        summary = _and_more(passed)
        if not has_champion:
            summary = f"There is no champion, so the rules that need none decided. {summary}"
    elif has_champion:
        verdict, summary = Verdict.NO_EVIDENCE, "No rule had anything to judge."
    else:
        verdict = Verdict.NO_EVIDENCE
        summary = (
            "There is no champion to compare with, and the policy has no floor. Add one, such as "
            "{kind: floor, metric: accuracy, at_least: 0.9}."
        )
    return Judgement(verdict=verdict, summary=summary, rules=list(rules))


def _and_more(rules: Sequence[RuleResult]) -> str:
    more = len(rules) - 1
    if not more:
        return rules[0].sentence
    ended = "had no evidence" if rules[0].verdict is Verdict.NO_EVIDENCE else rules[0].verdict.words
    return f"{rules[0].sentence} ({more} more check{'' if more == 1 else 's'} {ended}.)"
