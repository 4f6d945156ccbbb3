"""The beginning of a run on an engine: what the form holds is checked, and goes on record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from goldenpath.errors import ConfigError
from goldenpath.journal import IndexKind
from goldenpath.pipelines.train_to_serve.config import Config
from goldenpath.steps import current_run
from goldenpath.steps.task import whole_numbers
from goldenpath.store import put_document
from goldenpath.validation import validated

PATH = "train-to-serve"


def begin(
    *,
    model: str,
    service: str,
    source: str,
    source_options: dict[str, Any],
    data: dict[str, Any],
    training: dict[str, Any],
    evaluation: dict[str, Any],
    held_out: str,
    gate: dict[str, Any],
    promotion: dict[str, Any] | None,
) -> str:
    """Checks a run's configuration, and records the run under its digest.

    An engine's form can be edited where the compiled file cannot, so that the digest is made here and
    read from the run's record by all later steps. The arguments are the sections of ``Config``, and
    ``held_out`` the key of the evaluator's dataset.

    Returns:
        The service's name.

    Raises:
        ConfigError: A value does not fit: told before the first dataset is read.
    """
    form = {
        "path": PATH,
        "model": model,
        "service": service,
        "source": source,
        "source_options": source_options,
        "data": data,
        "training": training,
        "evaluation": {**evaluation, "dataset": held_out},
        "gate": gate,
        "promotion": promotion,
    }
    config = validated(Config, whole_numbers(form), where="The run's inputs")
    context = current_run()
    if not context.config_digest:
        document = put_document(context.store, config.model_dump(mode="json"))
        context = replace(context, path=PATH, config=document, config_digest=config.digest())
    journal = context.journal
    if journal.begin(context.record()).config_digest != context.config_digest:
        raise ConfigError(
            f"The run {context.run} was begun with another configuration.", next_step="Start a new run."
        )
    journal.add_to_index(IndexKind.CONFIG, context.config_digest, context.run)
    return config.service_name
