"""The model must take and give what the champion does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from goldenpath.evaluation.case import Case
from goldenpath.evaluation.rules.base import BaseRule, no_evidence, unjudged
from goldenpath.evaluation.verdict import RuleResult, Verdict


class Schema(BaseRule):
    """The recorded inputs and outputs equal the champion's, or each change is approved by its name."""

    kind: Literal["schema"] = "schema"
    approved: tuple[str, ...] = ()
    """Changes that may be, such as ``inputs.age``."""

    def judge(self, case: Case) -> list[RuleResult]:
        """Compares the two signatures name by name."""
        name = "same inputs and outputs"
        if case.champion is None:
            return [unjudged(name)]
        if case.candidate.signature is None or case.champion.signature is None:
            whose = "candidate" if case.candidate.signature is None else "champion"
            return [no_evidence(name, f"The {whose}'s model records no inputs and outputs.")]
        changed = _changes(case.champion.signature, case.candidate.signature)
        open_ = {path: change for path, change in changed.items() if path not in self.approved}
        if open_:
            sentence = (
                f"{'; '.join(open_.values())}. Approve a change by its name: approved: [{next(iter(open_))}]."
            )
            return [RuleResult(name=name, verdict=Verdict.REFUSED, sentence=sentence)]
        sentence = (
            f"The changes were approved: {', '.join(changed)}."
            if changed
            else "Inputs and outputs are those of the champion."
        )
        return [RuleResult(name=name, verdict=Verdict.PASSED, sentence=sentence)]


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """Each changed field by its path, with a clause that says how."""
    changes: dict[str, str] = {}
    for part in sorted({*old, *new}):
        before, after = _fields(old.get(part)), _fields(new.get(part))
        for field in sorted({*before, *after}):
            path = f"{part}.{field}"
            if field not in after:
                changes[path] = f"{path} ({before[field]}) is gone"
            elif field not in before:
                changes[path] = f"{path} ({after[field]}) is new"
            elif before[field] != after[field]:
                changes[path] = f"{path} was {before[field]} and is {after[field]}"
    return changes


def _fields(part: Any) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in (part or {}).items()}
