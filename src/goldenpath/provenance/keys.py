"""The key of a step: equal keys mean that the work was done already."""

from __future__ import annotations

from typing import Any

from goldenpath.provenance.canonical import digest_of


def step_key(
    *, component: str, schema: int, inputs: dict[str, Any], config_digest: str, code: str, image: str
) -> str:
    """The sha256 over everything that decides what a step returns.

    Args:
        component: ``family.name``.
        schema: The version of the component's outputs.
        inputs: The step's inputs as JSON.
        config_digest: The digest of the path's configuration.
        code: ``Code.digest`` of the user's code.
        image: The image's digest.
    """
    return digest_of(
        {
            "component": component,
            "schema": schema,
            "inputs": inputs,
            "config_digest": config_digest,
            "code": code,
            "image": image,
        }
    )
