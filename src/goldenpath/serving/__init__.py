"""Promotion of models into service, judged by what they do there."""

from goldenpath.serving.plan import CounterRatio, ErrorRate, Latency, PromotionPlan, Traffic
from goldenpath.serving.promotion import PromotionResult, promote, rollback

__all__ = [
    "CounterRatio",
    "ErrorRate",
    "Latency",
    "PromotionPlan",
    "PromotionResult",
    "Traffic",
    "promote",
    "rollback",
]
