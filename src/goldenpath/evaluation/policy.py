"""The policy of a gate, as path files hold it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from goldenpath.evaluation.rules import NoRegression, Rule


class GatePolicy(BaseModel):
    """What a candidate must prove.

    By default: no regression against the champion. A first model has no champion, so a policy needs a
    ``floor`` (or another rule that stands alone) to let one pass.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)] = (NoRegression(),)
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Of each one-sided bound: a harm at the margin passes, or is refused, in at most 5 of 100 gates."""
