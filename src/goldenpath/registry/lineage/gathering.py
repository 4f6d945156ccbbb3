"""From the records of a run to the entries of a trace: pure, nothing is read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldenpath import refs
from goldenpath.provenance import OutcomeRecord, RunRecord, StepRecord
from goldenpath.refs import Ref
from goldenpath.registry.lineage.entries import Entry, Step
from goldenpath.registry.versions import Version
from goldenpath.store import keys


@dataclass(frozen=True, kw_only=True)
class Records:
    """All that is on record about one run and its model."""

    store: str
    """The store's URL."""
    run: RunRecord
    end: OutcomeRecord | None
    steps: Sequence[StepRecord]
    origins: Mapping[str, StepRecord]
    """For steps whose result was adopted: the record of the work, by step."""
    promotion: StepRecord | None
    """The promotion, of this run or of another that brought the model into service."""
    version: Version | None
    model: Ref | None

    def step(self, component: str) -> StepRecord | None:
        """The first step of a component."""
        return next((step for step in self.steps if step.component == component), None)

    def outputs(self, component: str) -> Mapping[str, Any]:
        """What the first step of a component returned; nothing where it did not run."""
        found = self.step(component)
        return found.outputs if found else {}

    def inputs(self, component: str) -> Mapping[str, Any]:
        """What the first step of a component was given; nothing where it did not run."""
        found = self.step(component)
        return found.inputs if found else {}


def entries(records: Records) -> dict[str, Any]:
    """The fields of a trace, nothing looked up yet."""
    judged = _evaluation(records)
    return {
        "model": _model(records),
        "code": _code(records),
        "data": _data(records),
        "image": Entry(text=records.run.image, uri=records.run.environment) if records.run.image else None,
        "config": _config(records),
        "checkpoints": _checkpoints(records),
        "evaluation": judged,
        "rows": _kept(judged, "rows", "one row an example"),
        "gate": _gate(records),
        "report": _kept(_gate(records), "report", "the gate's report"),
        "rollout": _rollout(records),
        "run": _run(records),
        "queue": _queue(records),
        "cost": _cost(records),
        "steps": tuple(_step(step, records.origins.get(step.step)) for step in records.steps),
    }


def short(ref: str) -> str:
    """A reference for people: ``digits:3@sha256:0123456789ab``."""
    parsed = refs.parse(ref)
    return f"{parsed.short}@sha256:{parsed.digest[:12]}" if parsed.digest else parsed.short


def _model(records: Records) -> Entry | None:
    if records.model is None:
        return None
    facts: dict[str, Any] = {"metrics": records.outputs("training.launch").get("metrics", {})}
    if records.version is not None:
        facts["registered_at"] = records.version.registered_at.isoformat()
        facts["verdict"] = records.version.verdict
        facts["tracking"] = records.outputs("registry.register").get("tracking", "")
    return Entry(text=short(str(records.model)), uri=str(records.model), facts=facts)


def _code(records: Records) -> Entry | None:
    code = records.run.code
    source = records.inputs("training.launch").get("source") or records.inputs("run.pin").get("source", "")
    commit = f"{code.repository or 'commit'} {code.commit[:12]}" if code.commit else ""
    if commit and code.dirty:
        commit += " with uncommitted changes"
    facts = {key: value for key, value in code.model_dump().items() if value}
    if source:
        text = f"{commit}, as taken in {short(source)}" if commit else short(source)
        return Entry(text=text, uri=source, facts=facts)
    # A repository may be private or gone: its address is told, and not asked.
    uri = f"{code.repository}@{code.commit}" if code.repository else ""
    return Entry(text=commit, uri=uri, facts=facts) if commit else None


def _data(records: Records) -> tuple[Entry, ...]:
    given = dict(records.inputs("training.launch").get("datasets", {}))
    used = {name: ("trained on", ref) for name, ref in given.items()}
    held_out = records.inputs("evaluation.evaluate").get("dataset", "")
    if held_out and held_out not in given.values():
        used["test"] = ("evaluated on", held_out)
    return tuple(
        Entry(text=f"{name}: {short(ref)}", uri=ref, facts={"name": name, "use": use})
        for name, (use, ref) in used.items()
    )


def _config(records: Records) -> Entry | None:
    digest = records.run.config_digest
    if not digest and not records.run.config:
        return None
    return Entry(
        text=f"{records.run.path} sha256:{digest[:12]}", uri=records.run.config, facts={"digest": digest}
    )


def _checkpoints(records: Records) -> tuple[Entry, ...]:
    found = records.outputs("training.launch").get("checkpoint", "")
    return (Entry(text=short(found), uri=found),) if found else ()


def _evaluation(records: Records) -> Entry | None:
    digest = records.model.digest if records.model else None
    for step in records.steps:
        if step.component == "evaluation.evaluate" and refs.parse(step.outputs["model"]).digest == digest:
            found = step.outputs
            metrics = found.get("metrics", {})
            return Entry(
                text=", ".join(f"{name} {value:.4g}" for name, value in metrics.items()) or "no metrics",
                uri=found["evaluation"],
                facts={key: found.get(key) for key in ("metrics", "n", "dataset", "rows", "evaluator")},
            )
    if records.version is not None:
        return Entry(text="", uri=records.version.evaluation)
    return None


def _gate(records: Records) -> Entry | None:
    found = records.outputs("evaluation.gate")
    override = records.inputs("registry.register").get("override", "")
    if records.version is not None:
        override = records.version.override or override
    verdict = found.get("verdict") or (records.version.verdict if records.version else "")
    uri = found.get("gate") or (records.version.gate if records.version else "")
    if not uri:
        return None
    text = f"{verdict}: {found['summary']}" if found.get("summary") else verdict
    if override and verdict != "passed":
        text += f" Overridden: {override}"
    facts = {"verdict": verdict, "override": override, "report": found.get("report", "")}
    champion = records.outputs("run.pin").get("champion", "")
    return Entry(text=text, uri=uri, facts={**facts, "champion": champion})


def _kept(entry: Entry | None, fact: str, text: str) -> Entry | None:
    uri = entry.facts.get(fact) if entry else ""
    return Entry(text=text, uri=uri) if uri else None


def _rollout(records: Records) -> Entry | None:
    if records.promotion is None:
        return None
    found = records.promotion.outputs
    text = f"{found.get('outcome', '')} to {records.promotion.inputs.get('service', '')}"
    if found.get("reason"):
        text += f": {found['reason']}"
    facts = {key: found.get(key, "") for key in ("outcome", "reason", "url")}
    return Entry(text=text, uri=found.get("rollout", ""), facts={**facts, "run": records.promotion.run})


def _run(records: Records) -> Entry:
    run, end = records.run, records.end
    outcome = end.outcome.value if end else "no outcome"
    return Entry(
        text=f"{run.run}, {run.path or 'no path'} on {run.engine}, {outcome}",
        uri=f"{records.store}/{keys.run(run.run)}",
        facts={
            "run": run.run,
            "path": run.path,
            "engine": run.engine,
            "external_id": run.external_id,
            "url": run.url,
            "team": run.team,
            "namespace": run.namespace,
            "outcome": outcome,
            "started_at": run.started_at.isoformat(),
            "finished_at": end.finished_at.isoformat() if end else "",
        },
    )


def _queue(records: Records) -> Entry | None:
    trained = records.step("training.launch")
    if trained is None:
        return None
    name = trained.inputs.get("job", {}).get("queue") or records.run.queue
    waited = trained.outputs.get("queued_s", 0.0)
    text = f"{name}, waited {waited:.0f} s" if name else "none: the job was started at once"
    return Entry(text=text, facts={"queue": name, "queued_s": waited})


def _cost(records: Records) -> Entry | None:
    trained = records.outputs("training.launch")
    if not trained:
        return None
    cost, hours = trained.get("cost"), trained.get("accelerator_hours", 0.0)
    running = trained.get("running_s", 0.0)
    price = f"{cost['amount']:.2f} {cost['currency']}" if cost else "no price is known"
    return Entry(
        text=f"{price}; {hours:.2f} accelerator hours, {running:.0f} s",
        facts={"cost": cost, "accelerator_hours": hours, "running_s": running},
    )


def _step(step: StepRecord, origin: StepRecord | None) -> Step:
    done = origin or step
    logs = done.outputs.get("logs") or ()
    return Step(
        step=step.step,
        component=step.component,
        run=step.reused_from or step.run,
        started_at=done.started_at,
        finished_at=done.finished_at,
        logs=tuple(logs),
    )
