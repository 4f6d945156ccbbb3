"""Watching one step: samples are taken, recorded and judged until there is a verdict or no time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldenpath import progress
from goldenpath.serving.judge.record import read_record, record_lines
from goldenpath.serving.judge.samples import Sample
from goldenpath.serving.judge.spec import JudgeSpec
from goldenpath.serving.judge.verdict import Judgement, Verdict, judge
from goldenpath.serving.metrics.base import MetricSource, Unreadable
from goldenpath.serving.plan import Metric
from goldenpath.serving.targets import Target

_TELL_EVERY_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is watched in a step, and how often."""

    spec: JudgeSpec
    target: Target
    metrics: Sequence[Metric]
    stable: str
    """The stable arm's revision name."""
    canary: str
    record: Path
    """The file that samples are appended to; an earlier attempt's are gone on with."""
    look_every_s: float
    max_step_s: float


def watch(what: Watch, *, aborted: Callable[[], str]) -> tuple[Judgement, str]:
    """Watches until PASS, FAIL, the step's time is over, or somebody asks for an end.

    Returns:
        The last judgement, and the reason that ``aborted`` gave, if it did.
    """
    samples = _begin(what)
    # By the monotonic clock, and from now: a wall clock may jump, and a promoter may have been dead.
    deadline = time.monotonic() + what.max_step_s
    told = 0.0
    while True:
        sample = take(what, what.target.source)
        samples.append(sample)
        with what.record.open("a") as out:
            out.write(f"{sample.model_dump_json()}\n")
        judgement = judge(what.spec, samples)
        reason = aborted()
        over = time.monotonic() > deadline
        if judgement.verdict in (Verdict.PASS, Verdict.FAIL) or reason or over:
            return judgement, reason
        if time.monotonic() - told > _TELL_EVERY_S:
            told = time.monotonic()
            progress.note(f"{judgement.verdict.value}: {judgement.reason}")
        time.sleep(what.look_every_s)


def take(what: Watch, source: Callable[[], MetricSource]) -> Sample:
    """One sample: both arms' counters, or why they could not be read."""
    at, ready = time.time(), what.target.ready(what.canary)
    try:
        opened = source()
        return Sample(
            at=at,
            stable=opened.read(what.stable, what.metrics),
            canary=opened.read(what.canary, what.metrics),
            canary_ready=ready,
        )
    except Unreadable as fault:
        return Sample(at=at, canary_ready=ready, problem=str(fault))


def _begin(what: Watch) -> list[Sample]:
    """The samples of an attempt that was killed, or a new record."""
    if what.record.exists():
        text = what.record.read_text()
        if "\n" in text:
            kept = read_record(text, where=str(what.record), torn=True)
            what.record.write_text(record_lines(kept.spec, kept.samples))
            return kept.samples
    what.record.parent.mkdir(parents=True, exist_ok=True)
    what.record.write_text(record_lines(what.spec, ()))
    return []
