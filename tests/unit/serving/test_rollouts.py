"""Rollouts driven against a service in memory: every outcome, and a kill at every act."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldenpath import registry
from goldenpath.errors import NotFound, Refused, StaleChampion, Temporary
from goldenpath.serving import PromotionPlan, PromotionResult, promote, rollback
from goldenpath.serving import targets as targets_module
from goldenpath.serving.judge.record import read_record
from goldenpath.serving.judge.verdict import Verdict, judge
from goldenpath.serving.plan import ErrorRate
from goldenpath.serving.rollout import driver
from goldenpath.serving.rollout.records import Abort, Ledger
from goldenpath.store import Store, keys

PLAN = PromotionPlan(
    steps=(20.0, 50.0),
    metrics=(ErrorRate(),),
    warmup_s=0,
    bake_s=0,
    look_every_s=0.1,
    max_step_s=2,
    traffic=None,
)


@pytest.fixture(autouse=True)
def _in_memory(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets_module.TARGETS, "local", lambda *_: target)
    monkeypatch.setattr(driver, "_OBSERVE_S", 0.0)


class Service:
    """Calls the library as the components do."""

    def __init__(self, store: Store, state_dir: Path) -> None:
        self.store = store
        self.state_dir = state_dir
        self.ledger = Ledger(store, "toy")

    def promote(
        self, model: str, *, run: str, champion: str | None = None, plan: PromotionPlan = PLAN
    ) -> PromotionResult:
        return promote(
            model,
            "toy",
            plan,
            expected_champion=self.champion if champion is None else champion,
            run=run,
            store=self.store,
            state_dir=self.state_dir,
            tracking="",
        )

    def rollback(self, *, run: str, reason: str = "users complain") -> PromotionResult:
        return rollback(
            "toy", reason=reason, run=run, store=self.store, state_dir=self.state_dir, tracking=""
        )

    @property
    def champion(self) -> str:
        return registry.aliases("toy", store=self.store).of(registry.CHAMPION)


@pytest.fixture
def service(file_store: Store, tmp_path: Path) -> Service:
    return Service(file_store, tmp_path / "state")


def name_of(model: str) -> str:
    return f"rev-{model.rpartition(':')[2][:12]}"


def test_the_first_model_gets_everything_once_it_answers(
    service: Service, target: Any, make_model: Any
) -> None:
    first = make_model("one")
    result = service.promote(first, run="r1")
    assert (result.outcome, result.champion) == ("promoted", first)
    assert service.champion == first
    assert target.live.weights == {name_of(first): 100.0}
    assert service.store.get(result.rollout.removeprefix(f"{service.store.url}/"))


def test_a_good_canary_is_promoted_step_by_step_and_its_records_replay(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.acts.clear()
    result = service.promote(second, run="r2")
    assert (result.outcome, result.champion) == ("promoted", second)
    assert target.live.weights == {name_of(second): 100.0}
    assert name_of(first) in target.running, "the one before stays warm"
    assert len(target.acts) == ACTS
    ending = service.ledger.ending(2)
    assert ending is not None
    assert [t.event.value for t in ending.transitions] == ["ready", "passed", "passed", "done"]
    for transition in ending.transitions[1:3]:
        record = read_record(service.store.get(transition.samples).decode(), where=transition.samples)
        again = judge(record.spec, record.samples)
        assert (again.verdict, again.reason) == (Verdict.PASS, transition.reason)


def test_a_shadow_is_judged_before_the_first_step(service: Service, target: Any, make_model: Any) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.bad_share[name_of(second)] = 0.3
    result = service.promote(second, run="r2", plan=PLAN.model_copy(update={"shadow": 50.0}))
    assert result.outcome == "rolled_back"
    ending = service.ledger.ending(2)
    assert ending is not None
    assert [(t.event.value, t.step) for t in ending.transitions] == [("ready", 0), ("failed", 0), ("done", 0)]
    assert ending.transitions[1].samples.endswith("samples-0.jsonl")


def test_a_bad_canary_is_taken_back(service: Service, target: Any, make_model: Any) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.bad_share[name_of(second)] = 0.1
    result = service.promote(second, run="r2")
    assert (result.outcome, result.champion) == ("rolled_back", first)
    assert "error rate: 10.00%" in result.reason
    assert target.live.weights == {name_of(first): 100.0}
    assert target.running == {name_of(first)}


def test_a_canary_that_never_gets_ready_gets_no_request(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.broken[second] = "it ran out of memory"
    result = service.promote(second, run="r2")
    assert result.outcome == "rolled_back"
    assert "ran out of memory" in result.reason
    assert target.acts.count("route") == 2, "the promotion of the first, and the way back"


def test_a_first_model_that_cannot_serve_leaves_nothing_behind(
    service: Service, target: Any, make_model: Any
) -> None:
    first = make_model("one")
    target.broken[first] = "no"
    result = service.promote(first, run="r1")
    assert (result.outcome, result.champion) == ("rolled_back", "")
    assert not target.running
    assert service.champion == ""


def test_without_traffic_nothing_passes_and_the_reason_is_told(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.per_read = 0.0
    result = service.promote(second, run="r2", plan=PLAN.model_copy(update={"max_step_s": 0.5}))
    assert (result.outcome, result.champion) == ("paused", first)
    assert target.live.weights == {name_of(first): 100.0}
    assert name_of(second) in target.running, "the canary waits in the dark"


def test_traffic_that_stops_in_a_step_pauses(service: Service, target: Any, make_model: Any) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")

    def dry_up() -> None:
        if target.live.weights.get(name_of(second)):
            target.per_read = 0.0

    target.on_read = dry_up
    result = service.promote(second, run="r2", plan=PLAN.model_copy(update={"max_step_s": 0.5}))
    assert result.outcome == "paused"
    assert "No verdict at 20%" in result.reason
    assert target.live.weights == {name_of(first): 100.0}


def test_a_stale_champion_is_refused_before_anything_starts(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    acts = list(target.acts)
    with pytest.raises(StaleChampion):
        service.promote(second, run="r2", champion="")
    assert target.acts == acts


def test_a_champion_that_changed_meanwhile_takes_the_canary_back(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second, third = (make_model(text) for text in ("one", "two", "three"))
    service.promote(first, run="r1")

    def usurp() -> None:
        if target.live.weights.get(name_of(second)) == 50.0 and service.champion == first:
            registry.move_alias(
                "toy", {registry.CHAMPION: third}, expected_champion=first, store=service.store, tracking=""
            )

    target.on_read = usurp
    with pytest.raises(StaleChampion, match="taken back"):
        service.promote(second, run="r2")
    assert target.live.weights == {name_of(first): 100.0}
    with pytest.raises(StaleChampion):
        service.promote(second, run="r2")


def test_the_same_run_again_gets_the_same_answer_without_work(
    service: Service, target: Any, make_model: Any
) -> None:
    first = make_model("one")
    result = service.promote(first, run="r1")
    acts = list(target.acts)
    assert service.promote(first, run="r1") == result
    assert target.acts == acts


def test_the_champion_promoted_again_is_brought_up(service: Service, target: Any, make_model: Any) -> None:
    first = make_model("one")
    service.promote(first, run="r1")
    target.stop()
    assert service.promote(first, run="r2").outcome == "promoted"
    assert target.live.weights == {name_of(first): 100.0}


def test_another_promoter_at_work_is_temporary(service: Service, target: Any, make_model: Any) -> None:
    target.held = True
    with pytest.raises(Temporary, match="Another promoter"):
        service.promote(make_model("one"), run="r1")
    assert not service.ledger.numbers()


ACTS = 13
"""Acts of a promotion through two steps; ``test_a_good_canary…`` counts them."""


@pytest.mark.parametrize("kill_at", range(ACTS))
def test_a_promotion_killed_at_any_act_ends_promoted_by_the_same_run(
    service: Service, target: Any, make_model: Any, killed: type[BaseException], kill_at: int
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.acts.clear()
    target.kill_at = kill_at
    with pytest.raises(killed):
        service.promote(second, run="r2", champion=first)
    assert service.promote(second, run="r2", champion=first).outcome == "promoted"
    assert service.champion == second
    assert target.live.weights == {name_of(second): 100.0}
    assert service.ledger.numbers() == [2, 1]


@pytest.mark.parametrize("kill_at", range(ACTS))
def test_a_promotion_killed_and_given_up_never_leaves_a_split_behind(
    service: Service, target: Any, make_model: Any, killed: type[BaseException], kill_at: int
) -> None:
    first, second, third = (make_model(text) for text in ("one", "two", "three"))
    service.promote(first, run="r1")
    target.acts.clear()
    target.kill_at = kill_at
    with pytest.raises(killed):
        service.promote(second, run="r2", champion=first)
    assert len(target.live.weights) == 1, "whoever dies orderly gives the requests back"
    champion = service.champion
    assert service.promote(third, run="r3", champion=champion).outcome == "promoted"
    assert service.champion == third
    assert target.live.weights == {name_of(third): 100.0}
    ending = service.ledger.ending(2)
    assert ending is not None
    assert ending.outcome == ("promoted" if champion == second else "rolled_back")


def test_a_rollback_brings_the_champion_before_back_once(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    service.promote(second, run="r2")
    result = service.rollback(run="r3")
    assert (result.outcome, result.reason, result.champion) == ("rolled_back", "users complain", first)
    assert target.live.weights == {name_of(first): 100.0}
    assert service.rollback(run="r3") == result
    with pytest.raises(Refused, match="no previous champion"):
        service.rollback(run="r4")


def test_a_rollback_that_cannot_bring_it_back_keeps_the_champion(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    service.promote(second, run="r2")
    target.broken[first] = "its file is gone"
    result = service.rollback(run="r3")
    assert (result.outcome, result.champion) == ("paused", second)
    assert "its file is gone" in result.reason
    assert target.live.weights == {name_of(second): 100.0}


def test_a_rollback_of_what_never_served_is_refused(service: Service) -> None:
    with pytest.raises(NotFound, match="Nothing was ever promoted"):
        service.rollback(run="r1")


def test_a_rollback_ends_what_a_dead_promoter_left(
    service: Service, target: Any, make_model: Any, killed: type[BaseException]
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")
    target.kill_at = len(target.acts) + 4
    with pytest.raises(killed):
        service.promote(second, run="r2")
    result = service.rollback(run="r3", reason="it hangs")
    assert (result.outcome, result.reason, result.champion) == ("rolled_back", "it hangs", first)
    assert target.running == {name_of(first)}


def test_a_promoter_at_work_takes_its_canary_back_when_asked(
    service: Service, target: Any, make_model: Any
) -> None:
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")

    def ask() -> None:
        if target.live.weights.get(name_of(second)):
            service.ledger.ask_abort(2, Abort(reason="a hunch", run="r3"))

    target.on_read = ask
    result = service.promote(second, run="r2")
    assert (result.outcome, result.reason) == ("rolled_back", "a hunch")


def test_two_promoters_that_both_hold_do_not_both_commit(
    service: Service, target: Any, make_model: Any
) -> None:
    """The records fence even where the lock does not reach: a transition has one author."""
    first, second = make_model("one"), make_model("two")
    service.promote(first, run="r1")

    def rival() -> None:
        key = keys.rollout_transition("toy", 2, 1)
        if service.store.head(key) is None:
            service.store.put(key, service.store.get(keys.rollout_transition("toy", 1, 1)))

    target.on_read = rival
    with pytest.raises(Temporary, match="Another promoter"):
        service.promote(second, run="r2")
    assert target.live.weights == {name_of(first): 100.0}
