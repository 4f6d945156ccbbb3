"""The records that a run leaves in the store. Their JSON schemas are kept beside this file."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from goldenpath.provenance.identity import Code

SCHEMA = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Outcome(StrEnum):
    """How a path ended."""

    PROMOTED = "promoted"
    REGISTERED = "registered"
    REFUSED = "refused"
    NO_EVIDENCE = "no_evidence"
    ROLLED_BACK = "rolled_back"
    PAUSED = "paused"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    CANCELLED = "cancelled"


CONCLUSIVE = frozenset({Outcome.PROMOTED, Outcome.REFUSED, Outcome.ROLLED_BACK})
"""Outcomes that answer for their code, data, configuration and image: the same again is 'unchanged'."""


class RunRecord(_Record):
    """``runs/<run>/run.json``: what was asked for, by whom, where it runs."""

    schema_: int = Field(default=SCHEMA, alias="schema")
    run: str
    path: str
    engine: str
    external_id: str = ""
    url: str = ""
    namespace: str = ""
    team: str = ""
    queue: str = ""
    code: Code = Code()
    image: str = ""
    environment: str = ""
    """The document that lists Python and its distributions, where they stand for the image."""
    config: str = ""
    """The document that holds the whole configuration."""
    config_digest: str = ""
    started_at: datetime


class ErrorRecord(_Record):
    """``runs/<run>/steps/<step>/failed-<attempt>.json``: why an attempt failed; the step may yet succeed."""

    schema_: int = Field(default=SCHEMA, alias="schema")
    code: int
    type: str
    message: str


class StepRecord(_Record):
    """``runs/<run>/steps/<step>/result.json``: what a step was given and what it returned."""

    schema_: int = Field(default=SCHEMA, alias="schema")
    run: str
    step: str
    component: str
    key: str
    attempt: str
    inputs: dict[str, Any]
    outputs: dict[str, Any] = {}
    started_at: datetime
    finished_at: datetime
    reused_from: str = ""
    """The run whose result this is, where the work had been done already."""


class OutcomeRecord(_Record):
    """``runs/<run>/outcome.json``: how a run ended."""

    schema_: int = Field(default=SCHEMA, alias="schema")
    run: str
    outcome: Outcome
    reason: str = ""
    same_as: str = ""
    """For 'unchanged': the run that had answered already."""
    finished_at: datetime
