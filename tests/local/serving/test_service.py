"""Promotion, canaries and rollback with real Envoy and real KServe model servers."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Any

import httpx
import pytest

from goldenpath.errors import InputError, Temporary
from goldenpath.serving.judge.record import read_record
from goldenpath.serving.judge.verdict import judge
from goldenpath.serving.rollout.records import Ledger

pytestmark = pytest.mark.local


def errors_of_the_stable_arm(service: Any) -> float:
    """5xx that Envoy counted at the champion."""
    from goldenpath.serving.metrics.envoy import EnvoyStats
    from goldenpath.serving.targets.proxy import Proxy

    proxy = Proxy(service.state_dir / "serving" / service.name / "envoy", service=service.name)
    name = next(s.revision for s in service.status().local.servers if s.model == service.champion)
    return EnvoyStats(proxy.admin_url).read(name, service.plan.metrics).metrics["error rate"][0]


def test_the_champion_answers_both_protocols_on_this_machine_only(
    service: Any, example: dict[str, object]
) -> None:
    url = service.status().local.url
    assert url.startswith("http://127.0.0.1:")
    first = httpx.post(f"{url}/v1/models/toy:predict", json=example)
    assert (first.status_code, first.json()) == (200, {"predictions": [3.0]})
    tensors = [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [1.0, 4.0]}]
    second = httpx.post(f"{url}/v2/models/toy/infer", json={"inputs": tensors})
    assert second.status_code == 200
    assert second.json()["outputs"][0]["data"] == [5.0]
    assert httpx.post(f"{url}/v1/models/toy:predict", json={"nonsense": 1}).status_code == 400
    assert httpx.post(f"{url}/v1/models/other:predict", json=example).status_code == 404
    assert "request_predict_seconds" in httpx.get(f"{url}/metrics").text


@pytest.mark.parametrize(("body", "words"), [("failing", "error rate"), ("slow", "latency over 1000 ms")])
def test_a_bad_canary_is_rolled_back_and_the_champion_never_fails(
    service: Any, body: str, words: str
) -> None:
    champion = service.champion
    result = service.promote(service.model(body))
    assert (result.outcome, result.champion) == ("rolled_back", champion)
    assert words in result.reason
    assert service.split() == {champion: 100.0}
    assert errors_of_the_stable_arm(service) == 0


def test_a_promotion_killed_in_its_canary_goes_on_while_nobody_else_may(
    service: Any, clients: Counter[str], until: Any, kill: Any
) -> None:
    before, model = service.champion, service.model("good")
    promoter = service.promoter(model, run="killed")
    try:
        until(lambda: service.split().get(model) == 30.0)
        with pytest.raises(Temporary, match=f"process {promoter.pid}"):
            service.promote(service.model("good"))
    finally:
        kill(promoter)
    assert service.status().abandoned
    assert service.split()[model] == 30.0, "a SIGKILL leaves the split"

    result = service.promote(model, run="killed")
    assert (result.outcome, result.champion) == ("promoted", model)
    assert service.split() == {model: 100.0}

    result = service.rollback("users complain")
    assert (result.outcome, result.champion, service.champion) == ("rolled_back", before, before)
    assert service.split() == {before: 100.0}
    assert set(clients) == {"200"}, "no user ever saw a failure"
    assert clients["200"] > 50

    ledger = Ledger(service.store, service.name)
    ending = ledger.ending(ledger.numbers()[1])
    assert ending is not None
    step = next(t for t in ending.transitions if t.samples)
    record = read_record(service.store.get(step.samples).decode(), where=step.samples)
    assert judge(record.spec, record.samples).reason == step.reason


def test_a_rollback_reaches_the_promoter_at_work_and_a_sigterm_leaves_the_safe_split(
    service: Any, until: Any
) -> None:
    champion, model = service.champion, service.model("good")
    patient = service.plan.model_copy(update={"bake_s": 80.0})
    service.plan, plan = patient, service.plan
    try:
        promoter = service.promoter(model, run="patient")
        until(lambda: model in service.split())
        promoter.send_signal(signal.SIGTERM)
        assert promoter.wait(60) == 128 + signal.SIGTERM
        assert service.split() == {champion: 100.0}
        assert service.status().abandoned

        promoter = service.promoter(model, run="patient")
        until(lambda: model in service.split())
        result = service.rollback("a hunch")
        assert (result.outcome, result.reason, result.champion) == ("rolled_back", "a hunch", champion)
        assert promoter.wait(60) == 0
        assert service.split() == {champion: 100.0}
    finally:
        service.plan = plan


def test_without_traffic_nothing_is_promoted(service: Any) -> None:
    champion = service.champion
    result = service.promote(service.model("good"), plan=service.plan.model_copy(update={"traffic": None}))
    assert (result.outcome, result.champion) == ("paused", champion)
    assert "The plan cannot end: 0 requests came" in result.reason
    assert service.split() == {champion: 100.0}


def test_what_died_is_started_again_on_the_same_port(service: Any, example: dict[str, object]) -> None:
    url = service.status().local.url
    for pid in service.processes():
        os.kill(pid, signal.SIGKILL)
    assert not service.status().local.proxy_alive
    result = service.promote(service.champion)
    assert (result.outcome, result.url) == ("promoted", url)
    assert httpx.post(f"{url}/v1/models/toy:predict", json=example).status_code == 200


def test_a_first_model_that_does_not_load_leaves_no_process_and_tells_why(fresh: Any) -> None:
    result = fresh.promote(fresh.model("unloadable"))
    assert (result.outcome, result.champion) == ("rolled_back", "")
    assert "a_missing_module" in result.reason
    assert fresh.processes() == []


def test_a_port_that_is_taken_is_told(fresh: Any, service: Any) -> None:
    taken = int(service.status().local.url.rpartition(":")[2])
    with pytest.raises(InputError, match=f"Port {taken} of 127.0.0.1 cannot be taken"):
        fresh.promote(fresh.model("good"), plan=fresh.plan.model_copy(update={"port": taken}))


def test_stop_leaves_no_process(service: Any) -> None:
    """The last of this module: the shared service is gone after it."""
    assert service.processes()
    service.stop()
    assert service.processes() == []
    assert service.split() == {}
