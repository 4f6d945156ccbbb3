"""Evaluation and gates: what a model is worth, and whether it may replace the champion."""

from goldenpath.evaluation.case import EvaluationData
from goldenpath.evaluation.evaluate import EvaluationResult, evaluate
from goldenpath.evaluation.gate import GateResult, gate
from goldenpath.evaluation.job import EvaluationJob
from goldenpath.evaluation.judge import judge
from goldenpath.evaluation.parquet import read_rows
from goldenpath.evaluation.policy import GatePolicy
from goldenpath.evaluation.rows import Rows, from_table
from goldenpath.evaluation.verdict import Judgement, RuleResult, Verdict

__all__ = [
    "EvaluationData",
    "EvaluationJob",
    "EvaluationResult",
    "GatePolicy",
    "GateResult",
    "Judgement",
    "Rows",
    "RuleResult",
    "Verdict",
    "evaluate",
    "from_table",
    "gate",
    "judge",
    "read_rows",
]
