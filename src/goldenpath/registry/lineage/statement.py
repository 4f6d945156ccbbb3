"""A trace as an in-toto statement with SLSA provenance, for tools that check supply chains.

Formats: in-toto Statement v1 (https://in-toto.io/Statement/v1) and SLSA Provenance v1
(https://slsa.dev/spec/v1.0/provenance). It is not signed here: ``model.sig`` is the model's signature.
"""

from __future__ import annotations

from typing import Any

from goldenpath import refs
from goldenpath.errors import InputError
from goldenpath.registry.lineage.entries import Entry, Trace

BUILD_TYPE = "goldenpath:build/v1"
"""``externalParameters`` hold the path and its configuration; ``resolvedDependencies`` code, data, image."""


def in_toto(trace: Trace) -> dict[str, Any]:
    """The statement about a traced model.

    Raises:
        InputError: The trace is not one of a model.
    """
    if trace.model is None or trace.run is None:
        raise InputError(f"{trace.asked!r} made no model.", next_step="A statement is about a model.")
    facts = trace.run.facts
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [_resource("model", trace.model)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "path": facts["path"],
                    "config": _resource("config", trace.config) if trace.config else {},
                },
                "resolvedDependencies": [
                    _resource(name, entry)
                    for name, entry in trace.entries()
                    if name in ("code", "data", "image")
                ],
            },
            "runDetails": {
                "builder": {"id": f"goldenpath:engine/{facts['engine']}"},
                "metadata": {
                    key: value
                    for key, value in (
                        ("invocationId", trace.run.uri),
                        ("startedOn", facts["started_at"]),
                        ("finishedOn", facts["finished_at"]),
                    )
                    if value
                },
                "byproducts": [
                    _resource(name, entry)
                    for name, entry in trace.entries()
                    if name in ("checkpoints", "evaluation", "rows", "gate", "report", "rollout")
                ],
            },
        },
    }


def _resource(name: str, entry: Entry) -> dict[str, Any]:
    """A resource descriptor: name, address, and the digest that address or text carries."""
    found: dict[str, Any] = {"name": str(entry.facts.get("name", name))}
    if entry.uri:
        found["uri"] = entry.uri
    digest = _digest(entry)
    if digest:
        found["digest"] = digest
    return found


def _digest(entry: Entry) -> dict[str, str]:
    commit = entry.facts.get("commit", "")
    if any(f"/{kind.value}/" in entry.uri for kind in refs.Kind) and "@sha256:" in entry.uri:
        return {"sha256": entry.uri.rpartition(":")[2]}
    if "/sha256/" in entry.uri:
        return {"sha256": entry.uri.rpartition("/")[2]}
    if commit:
        return {"gitCommit": commit}
    algorithm, _, value = entry.text.partition(":")
    return {"sha256": value} if algorithm == "sha256" and not entry.uri else {}
