"""Drives a rollout through its states: does what each phase asks for and commits what came of it.

Every act can be repeated, so that a rollout that was killed in any state goes on from there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from goldenpath import progress
from goldenpath.errors import GoldenPathError, StaleChampion
from goldenpath.serving import traffic
from goldenpath.serving.catalog import Catalog
from goldenpath.serving.judge.forecast import forecast
from goldenpath.serving.judge.record import read_record
from goldenpath.serving.judge.samples import Arm
from goldenpath.serving.judge.verdict import Verdict
from goldenpath.serving.metrics.base import Unreadable
from goldenpath.serving.plan import Exposure, exposures, judge_spec
from goldenpath.serving.rollout.machine import Event, Phase, State, next_state
from goldenpath.serving.rollout.records import Ending, Ledger, Opening, Transition
from goldenpath.serving.rollout.report import report
from goldenpath.serving.rollout.watch import Watch, watch
from goldenpath.serving.targets import Split, Target
from goldenpath.store import keys

_OBSERVE_S = 3.0
"""Seconds of the stable arm's traffic that a forecast is made from, at least."""
_UNSEEN = 3.0
"""Requests that may have been due though none was seen (the 95% bound of a Poisson count of 0)."""

Found = tuple[Event, str, str]
"""What came of a phase: the event, the reason, and the key of the samples if it was judged."""


class Rollout:
    """One rollout, driven by its one promoter."""

    def __init__(
        self, opening: Opening, *, target: Target, catalog: Catalog, ledger: Ledger, work_dir: Path
    ) -> None:
        self.opening = opening
        self.plan = opening.plan
        self.target = target
        self.catalog = catalog
        self.ledger = ledger
        self.work_dir = work_dir / f"{opening.number:010d}"
        self.model = catalog.revision(opening.model)
        self.stable = catalog.revision(opening.champion) if opening.champion else None
        if self.stable is not None and self.stable.name == self.model.name:
            # The champion itself is promoted again: there is nothing to compare it with.
            self.stable = None
        compared = self.stable is not None and opening.kind == "promotion"
        self.exposures = exposures(self.plan) if compared else ()
        self._acts: dict[Phase, Callable[[State], Found]] = {
            Phase.DEPLOY: self._deploy,
            Phase.STEP: self._step,
            Phase.PROMOTE: self._promote,
            Phase.ROLL_BACK: self._roll_back,
            Phase.PAUSE: self._pause,
        }

    def run(self, *, abort: str = "") -> Ending:
        """Goes on from the last committed state to an end.

        Args:
            abort: Why the rollout shall be taken back instead of going on; ignored once its alias moved.
        """
        number = self.opening.number
        transitions = self.ledger.transitions(number)
        if (ending := self.ledger.ending(number)) is not None:
            return ending
        state = transitions[-1].state if transitions else State()
        try:
            while not state.ended:
                event, reason, samples = (
                    (Event.ABORTED, abort, "")
                    if abort and self._can_abort(state)
                    else self._acts[state.phase](state)
                )
                state = next_state(state, event, steps=len(self.exposures))
                transition = Transition(
                    sequence=len(transitions) + 1,
                    event=event,
                    phase=state.phase,
                    step=state.step,
                    reason=reason,
                    samples=samples,
                    at=datetime.now(UTC),
                )
                self.ledger.append(number, transition)
                transitions.append(transition)
                progress.note(f"{self.opening.service}: {self._told(state)}{f': {reason}' if reason else ''}")
        except BaseException:
            self._leave_safe()
            raise
        return self._finish(state, transitions)

    def _can_abort(self, state: State) -> bool:
        if state.phase is Phase.PROMOTE:
            return self.catalog.champion(self.opening.model) != self.model.model
        return state.phase in (Phase.DEPLOY, Phase.STEP)

    def _deploy(self, _state: State) -> Found:
        if self.stable is not None:
            self.target.deploy(self.stable)
            problem = self.target.wait_ready(self.stable, within_s=self.plan.ready_s)
            if problem:
                return Event.NO_EVIDENCE, f"The stable arm cannot be judged against: {problem}", ""
            if not self.target.split().weights:
                self.target.route(self._safe)
        if not self.exposures:
            problem = self._bring_up()
            return (Event.FAILED, problem, "") if problem else (Event.READY, "", "")
        with self._load():
            began, before = time.monotonic(), self._stable_counters()
            problem = self._bring_up()
            if problem:
                return Event.FAILED, problem, ""
            time.sleep(max(0.0, _OBSERVE_S - (time.monotonic() - began)))
            hopeless = self._hopeless(before, self._stable_counters(), time.monotonic() - began)
        return (Event.NO_EVIDENCE, hopeless, "") if hopeless else (Event.READY, "", "")

    def _bring_up(self) -> str:
        """Starts the model in the dark: an empty text, or why it cannot serve."""
        self.target.deploy(self.model)
        problem = self.target.wait_ready(self.model, within_s=self.plan.ready_s)
        problem = problem or self.target.warm_up(self.model, self.catalog.example(self.model.model))
        return f"The model cannot serve: {problem}." if problem else ""

    def _hopeless(self, before: Arm | None, after: Arm | None, seconds: float) -> str:
        """Why no verdict can come at the traffic seen, told before the canary gets any; or empty."""
        if before is None or after is None:
            return "The stable arm's metrics could not be read."
        seen = max(0.0, after.requests - before.requests)
        rates = {}
        for name, (bad, total) in after.metrics.items():
            if total > before.metrics[name][1]:
                rates[name] = (bad - before.metrics[name][0]) / (total - before.metrics[name][1])
        for step, exposure in enumerate(self.exposures):
            expected = forecast(
                judge_spec(self.plan, step),
                rps=(seen + _UNSEEN) / seconds,
                rates=rates,
                limit_s=self.plan.max_step_s,
            )
            if expected.seconds > self.plan.max_step_s:
                return (
                    f"The plan cannot end: {seen:.0f} requests came in {seconds:.0f} s, "
                    f"and at {exposure} {expected.sentence}."
                )
            progress.note(f"{exposure}: {expected.sentence}")
        return ""

    def _step(self, state: State) -> Found:
        assert self.stable is not None  # noqa: S101  (there are no steps without something to compare with)
        exposure = self.exposures[state.step]
        for revision in (self.stable, self.model):
            # After a kill, or a crash meanwhile: what is dead is started again, the rest adopted.
            self.target.deploy(revision)
            problem = self.target.wait_ready(revision, within_s=self.plan.ready_s)
            if problem:
                event = Event.FAILED if revision is self.model else Event.NO_EVIDENCE
                return event, f"{revision.name} is gone: {problem}", ""
        record = self.work_dir / f"samples-{state.step}.jsonl"
        self.target.route(self._split(exposure))
        with self._load():
            judgement, aborted = watch(
                Watch(
                    spec=judge_spec(self.plan, state.step),
                    target=self.target,
                    metrics=self.plan.metrics,
                    stable=self.stable.name,
                    canary=self.model.name,
                    record=record,
                    look_every_s=self.plan.look_every_s,
                    max_step_s=self.plan.max_step_s,
                ),
                aborted=self._aborted,
            )
            if judgement.verdict is not Verdict.PASS:
                # At once: what follows takes time, and the canary has requests meanwhile.
                self.target.route(self._safe)
        key = f"{keys.rollout_folder(self.opening.service, self.opening.number)}{record.name}"
        self.ledger.store.put(key, record)
        if aborted:
            return Event.ABORTED, aborted, key
        if judgement.verdict is Verdict.PASS:
            return Event.PASSED, judgement.reason, key
        if judgement.verdict is Verdict.FAIL:
            return Event.FAILED, judgement.reason, key
        return (
            Event.NO_EVIDENCE,
            f"No verdict at {exposure} within {self.plan.max_step_s:g} s: {judgement.reason}",
            key,
        )

    def _promote(self, _state: State) -> Found:
        # Before the alias says so, the model must be able to serve; a kill may lie between.
        problem = self._bring_up()
        if problem:
            raise GoldenPathError(f"{self.model.model} passed, and cannot serve now: {problem}")
        try:
            if self.opening.kind == "rollback":
                self.catalog.bring_back(self.model.model, instead_of=self.opening.champion)
            else:
                self.catalog.crown(self.model.model, instead_of=self.opening.champion)
        except StaleChampion as stale:
            return Event.STALE, str(stale), ""
        self.target.route(Split(weights={self.model.name: 100.0}))
        # The one before stays warm, so that a rollback takes no time.
        self.target.retain({self.model.name} | ({self.stable.name} if self.stable else set()))
        return Event.DONE, "", ""

    def _roll_back(self, _state: State) -> Found:
        if self.stable is not None:
            self.target.route(self._safe)
            self.target.retain({self.stable.name, *self._previous()})
        elif not self.opening.champion:
            # A first model that cannot serve leaves nothing behind. (The champion itself, promoted
            # again, is left as it is.)
            self.target.stop()
        return Event.DONE, "", ""

    def _previous(self) -> list[str]:
        """The champion before, which stays warm."""
        previous = self.catalog.previous(self.opening.model)
        return [self.catalog.revision(previous).name] if previous else []

    def _pause(self, _state: State) -> Found:
        self.target.route(self._safe)
        return Event.DONE, "", ""

    @property
    def _safe(self) -> Split:
        """The split before the rollout: all requests at the champion."""
        assert self.stable is not None  # noqa: S101  (its callers have something to go back to)
        return Split(weights={self.stable.name: 100.0})

    def _split(self, exposure: Exposure) -> Split:
        if exposure.mirrored:
            return Split(weights=self._safe.weights, mirror=self.model.name, mirror_percent=exposure.percent)
        return Split(
            weights=dict.fromkeys(self._safe.weights, 100.0 - exposure.percent)
            | {self.model.name: exposure.percent}
        )

    def _leave_safe(self) -> None:
        """Gives the requests back to the stable arm when the promoter must end before its rollout."""
        if self.stable is not None:
            with contextlib.suppress(GoldenPathError):
                self.target.route(self._safe)

    @contextlib.contextmanager
    def _load(self) -> Iterator[None]:
        """The plan's own load, with the champion's example: it is what the service answers today."""
        if self.plan.traffic is None or self.stable is None:
            yield
            return
        payload = self.catalog.example(self.stable.model)
        url = f"{self.target.url}/v1/models/{self.opening.service}:predict"
        with traffic.running(self.plan.traffic, url=url, payload=payload):
            yield

    def _stable_counters(self) -> Arm | None:
        assert self.stable is not None  # noqa: S101  (there are no steps without something to compare with)
        try:
            return self.target.source().read(self.stable.name, self.plan.metrics)
        except Unreadable:
            return None

    def _aborted(self) -> str:
        abort = self.ledger.abort(self.opening.number)
        return abort.reason if abort else ""

    def _told(self, state: State) -> str:
        if state.phase is Phase.STEP:
            return f"step {state.step + 1} of {len(self.exposures)}, {self.exposures[state.step]}"
        return state.phase.value.replace("_", " ")

    def _finish(self, state: State, transitions: list[Transition]) -> Ending:
        reasons = [t.reason for t in transitions if t.reason]
        outcome = _OUTCOMES[self.opening.kind, state.phase]
        alone = "It is the champion already" if self.opening.champion else "It is the service's first model"
        reason = reasons[-1] if reasons else f"{alone}, and answers its example."
        if self.opening.kind == "rollback" and outcome == "rolled_back":
            reason = self.opening.reason
        return self.ledger.finish(
            Ending(
                opening=self.opening,
                transitions=tuple(transitions),
                outcome=outcome,
                reason=reason,
                stale=any(t.event is Event.STALE for t in transitions),
                champion=self.catalog.champion(self.opening.model),
                url=self.target.url,
                report=self._report(transitions, outcome, reason),
                finished_at=datetime.now(UTC),
            )
        )

    def _report(self, transitions: list[Transition], outcome: str, reason: str) -> str:
        """Writes the picture, and returns its key."""
        store = self.ledger.store
        records = [
            read_record(store.get(t.samples).decode(), where=store.uri(t.samples))
            for t in transitions
            if t.samples
        ]
        page = report(self.opening, transitions, records, outcome=outcome, reason=reason)
        key = f"{keys.rollout_folder(self.opening.service, self.opening.number)}report.html"
        store.put(key, page.encode())
        return key


_OUTCOMES = {
    ("promotion", Phase.PROMOTED): "promoted",
    ("promotion", Phase.ROLLED_BACK): "rolled_back",
    ("promotion", Phase.PAUSED): "paused",
    # A rollback brings a model into service, too: the one before.
    ("rollback", Phase.PROMOTED): "rolled_back",
    ("rollback", Phase.ROLLED_BACK): "paused",
    ("rollback", Phase.PAUSED): "paused",
}
