"""How much worse a candidate may be: the harm on paired rows, with its bounds."""

from goldenpath.evaluation.intervals.choice import estimate
from goldenpath.evaluation.intervals.estimate import Estimate

__all__ = ["Estimate", "estimate"]
