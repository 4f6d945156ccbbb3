"""The form of this path in an engine's UI."""

from __future__ import annotations

from goldenpath.pipelines.form import Field, identifiers, written
from goldenpath.pipelines.train_to_serve.config import Config


def fields(config: Config) -> tuple[Field, ...]:
    """The inputs of the compiled path, with the configuration's values as defaults.

    What decides the shape of the graph is compiled in: the datasets' keys and options, which of them is
    held out, whether there is a source and a promotion.
    """
    found = [
        Field(name="model", type=str, default=config.model, doc="The registered model's name."),
        Field(
            name="service",
            type=str,
            default=config.service,
            doc="The service that the model is promoted to; empty for the model's name.",
        ),
    ]
    for key, name in source_inputs(config).items():
        doc = f"Where the dataset {key!r} comes from: a folder or file, or the URL of an object prefix."
        found.append(Field(name=name, type=str, default=config.data[key].source, doc=doc))
    if config.source:
        doc = "The folder with the user's code."
        found.append(Field(name="source", type=str, default=config.source, doc=doc))
    found += [
        Field(name="training", type=dict, default=written(config.training), doc="The training job."),
        Field(name="evaluation", type=dict, default=written(config.evaluation.job), doc="The evaluator."),
        Field(name="gate", type=dict, default=written(config.gate), doc="The rules of the gate."),
    ]
    if config.promotion is not None:
        doc = "How the model is brought into service."
        found.append(Field(name="promotion", type=dict, default=written(config.promotion), doc=doc))
    doc = "End early where the last conclusive run had the same code, data, configuration and image."
    found.append(Field(name="if_changed", type=bool, default=True, doc=doc))
    return tuple(found)


def source_inputs(config: Config) -> dict[str, str]:
    """For each dataset's key the name of the input with its source."""
    return {key: f"{name}_data" for key, name in identifiers(config.data).items()}
