"""The canary judge: anytime-valid verdicts from counters of a stable and a canary arm. Pure."""

from goldenpath.serving.judge.forecast import Forecast, forecast
from goldenpath.serving.judge.record import Record, read_record
from goldenpath.serving.judge.samples import Arm, Sample
from goldenpath.serving.judge.spec import JudgeSpec, MetricSpec
from goldenpath.serving.judge.verdict import Judgement, MetricVerdict, Verdict, judge

__all__ = [
    "Arm",
    "Forecast",
    "Judgement",
    "JudgeSpec",
    "MetricSpec",
    "MetricVerdict",
    "Record",
    "Sample",
    "Verdict",
    "forecast",
    "judge",
    "read_record",
]
