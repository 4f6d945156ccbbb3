"""The path in plain Python: read this first. ``kfp`` and ``argo`` say the same to their engines."""

from __future__ import annotations

from goldenpath.components.data.snapshot import snapshot
from goldenpath.components.evaluation.evaluate import evaluate
from goldenpath.components.evaluation.gate import gate
from goldenpath.components.registry.register import register
from goldenpath.components.run.finish import finish
from goldenpath.components.run.pin import pin
from goldenpath.components.serving.promote import promote
from goldenpath.components.training.launch import launch
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.provenance import Outcome


def run(config: Config, *, if_changed: bool = True) -> Outcome:
    """Trains, gates, registers and promotes a model.

    Args:
        config: The path's configuration, its local sources resolved.
        if_changed: End early with 'unchanged' where the last conclusive run had the same code, data,
            configuration and image.

    Returns:
        How the path ended. Everything else is in the journal, under the run's name.
    """
    datasets = {
        key: snapshot.at(f"snapshot-{key}")(
            source=item.source, name=config.dataset_name(key), options=item.options
        ).ref
        for key, item in config.data.items()
    }
    source = ""
    if config.source:
        source = snapshot.at("snapshot-source")(
            source=config.source, name=f"{config.model}-source", options=config.source_options
        ).ref
    pins = pin(
        model=config.model,
        datasets=datasets,
        source=source,
        service=config.service_name,
        if_changed=if_changed,
    )
    if pins.unchanged:
        return Outcome(finish(outcome=Outcome.UNCHANGED, same_as=pins.same_as).outcome)

    trained = launch.at("train")(
        job=config.training,
        model=config.model,
        datasets={key: datasets[key] for key in config.training_data},
        source=source,
    )
    held_out = datasets[config.evaluation.dataset]
    candidate = evaluate.at("evaluate-candidate")(
        job=config.evaluation.job, model=trained.model, dataset=held_out, source=source
    )
    champion = ""
    if pins.champion:
        champion = evaluate.at("evaluate-champion")(
            job=config.evaluation.job, model=pins.champion, dataset=held_out, source=source
        ).evaluation
    verdict = gate(candidate=candidate.evaluation, champion=champion, policy=config.gate)
    if verdict.verdict != "passed":
        return Outcome(finish(outcome=Outcome(verdict.verdict), reason=verdict.summary).outcome)

    registered = register(
        model=trained.model, name=config.model, evaluation=candidate.evaluation, gate=verdict.gate
    )
    if config.promotion is None:
        return Outcome(finish(outcome=Outcome.REGISTERED).outcome)
    promotion = promote(
        model=registered.model,
        service=config.service_name,
        plan=config.promotion,
        expected_champion=pins.champion,
    )
    return Outcome(finish(outcome=Outcome(promotion.outcome), reason=promotion.reason).outcome)
