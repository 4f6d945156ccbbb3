"""The key of a step: equal keys mean that the work was done already."""

from __future__ import annotations

from typing import Any

from goldenpath.provenance.canonical import digest_of


def step_key(*, component: str, schema: int, inputs: dict[str, Any], code: str, image: str) -> str:
    """The sha256 over everything that decides what a step returns.

    A path's whole configuration is not in it: a step sees its inputs alone, and a changed gate must not
    pay for a new training.

    Args:
        component: ``family.name``.
        schema: The version of the component's outputs.
        inputs: The identity of the step's inputs (``identity_of``): no queue, no timeout.
        code: The digest of the user's code, where no input carries it.
        image: The image's digest.
    """
    return digest_of(
        {"component": component, "schema": schema, "inputs": inputs, "code": code, "image": image}
    )
