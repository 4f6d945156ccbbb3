"""A path as the file that an engine takes."""

from __future__ import annotations

import difflib

from goldenpath.errors import ConfigError
from goldenpath.pipelines import on_argo, on_kfp
from goldenpath.pipelines.pods import Placement, Queue
from goldenpath.provenance import Code
from goldenpath.settings import Settings
from goldenpath.steps.task import IMAGE
from goldenpath.submit.pathfile import LoadedPath

TARGETS = {"kfp": on_kfp.to_yaml, "argo": on_argo.to_yaml}
"""What a path is compiled for: the path's module of that name builds, the function writes it."""


def compile_path(path: LoadedPath, target: str, *, settings: Settings, code: Code) -> str:
    """Compiles a path to YAML: the same text for the same arguments.

    Args:
        path: The path and its configuration. Local sources stay as written: a pod sees its image's
            working folder there.
        target: One of ``TARGETS``.
        settings: The image of the pods, and the queue where the path file names none.
        code: Which code the file is compiled from.

    Raises:
        ConfigError: The target is unknown, or the image or the queue cannot be used.
    """
    if target not in TARGETS:
        near = difflib.get_close_matches(target, TARGETS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Targets: {', '.join(TARGETS)}."
        raise ConfigError(f"A path cannot be compiled to {target!r}.", next_step=hint)
    job = path.config.training
    # `queue: null` in the file means none; only where the file is silent do the settings speak.
    queue = job.queue if "queue" in job.model_fields_set else settings.queue
    placement = Placement(
        engine=target,
        path=path.name,
        image=settings.image or IMAGE,
        queue=Queue(name=queue, priority=job.priority) if queue else None,
        code=code,
    )
    return TARGETS[target](path.module(target).build(path.config, placement))
