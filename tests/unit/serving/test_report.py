from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest

from goldenpath.serving import ErrorRate, PromotionPlan
from goldenpath.serving.judge.record import Record
from goldenpath.serving.judge.samples import Arm, Sample
from goldenpath.serving.plan import judge_spec
from goldenpath.serving.rollout.machine import Event, Phase
from goldenpath.serving.rollout.records import Opening, Transition
from goldenpath.serving.rollout.report import report

PLAN = PromotionPlan(steps=(50.0,), metrics=(ErrorRate(),), warmup_s=0)
NOW = datetime(2026, 12, 1, tzinfo=UTC)
OPENING = Opening(
    service="toy",
    number=3,
    run="<script>alert(1)</script>",
    model="m:2",
    champion="m:1",
    plan=PLAN,
    opened_at=NOW,
)


def page(samples: list[Sample]) -> str:
    rows = (
        (Event.READY, Phase.STEP, 10),
        (Event.FAILED, Phase.ROLL_BACK, 40),
        (Event.DONE, Phase.ROLLED_BACK, 41),
    )
    transitions = [
        Transition(sequence=n, event=event, phase=phase, reason="<b>why</b>", at=NOW + timedelta(seconds=at))
        for n, (event, phase, at) in enumerate(rows, start=1)
    ]
    record = Record(judge_spec(PLAN, 0), samples)
    return report(OPENING, transitions, [record], outcome="rolled_back", reason="too many errors")


def samples(looks: int) -> list[Sample]:
    def arm(bad: float, total: float) -> Arm:
        return Arm(requests=total, metrics={"error rate": (bad, total)})

    return [
        Sample(at=float(t), stable=arm(0, 100.0 * t), canary=arm(20.0 * t, 100.0 * t)) for t in range(looks)
    ]


@pytest.mark.parametrize("looks", [0, 1, 5, 90])
def test_the_page_is_well_formed_whatever_was_sampled(looks: int) -> None:
    text = page(samples(looks)).partition("\n")[2].replace('<meta charset="utf-8">', "")
    root = ElementTree.fromstring(text)
    assert "rolled back" in "".join(root.itertext())
    bands = root.findall(".//polygon")
    assert len(bands) == (1 if looks > 2 else 0)
    assert all(len(pair.split(",")) == 2 for band in bands for pair in band.attrib["points"].split())


def test_texts_of_others_are_escaped_and_nothing_is_loaded_from_elsewhere() -> None:
    text = page(samples(10))
    assert "<script" not in text
    assert "<b>why" not in text
    assert "&lt;script&gt;" in text
    assert "http" not in text


def test_the_same_rollout_gives_the_same_page() -> None:
    assert page(samples(30)) == page(samples(30))
