"""The shared formats: their JSON schemas and one record of each kind, as they are committed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

import goldenpath.provenance
from goldenpath.provenance import (
    Code,
    ErrorRecord,
    Outcome,
    OutcomeRecord,
    RunRecord,
    StepRecord,
    canonical_json,
    step_key,
)

SCHEMAS = Path(goldenpath.provenance.__path__[0]) / "schemas"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DIGEST = "sha256:" + "ab" * 32
KEY = step_key(
    component="training.launch",
    schema=1,
    inputs={"job": {"entry_point": "train.py"}, "model": "digits"},
    code="",
    image=DIGEST,
)
RECORDS: dict[str, BaseModel] = {
    "run": RunRecord(
        run="20260102-030405-abcdef",
        path="train-to-serve",
        engine="local",
        code=Code(repository="https://git.example.com/team/digits", commit="c" * 40, digest="d" * 64),
        image=DIGEST,
        config=f"s3://lake/manifests/sha256/{'e' * 64}",
        config_digest="e" * 64,
        started_at=NOW,
    ),
    "step": StepRecord(
        run="20260102-030405-abcdef",
        step="train",
        component="training.launch",
        key=KEY,
        attempt="01234567",
        inputs={"model": "digits"},
        outputs={"model": f"s3://lake/models/digits@sha256:{'f' * 64}"},
        started_at=NOW,
        finished_at=NOW,
    ),
    "outcome": OutcomeRecord(
        run="20260102-030405-abcdef", outcome=Outcome.REFUSED, reason="accuracy is lower", finished_at=NOW
    ),
    "error": ErrorRecord(code=5, type="UserProgramFailed", message="train.py ended with exit code 3"),
}


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_committed_schema_is_the_model_s(name: str, golden: Callable[[Path, str], None]) -> None:
    schema = type(RECORDS[name]).model_json_schema(by_alias=True, mode="serialization")
    golden(SCHEMAS / f"{name}.json", json.dumps(schema, indent=2) + "\n")


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_committed_record_is_valid_and_reads_as_it_was_written(
    name: str, golden: Callable[[Path, str], None]
) -> None:
    file = Path(__file__).parent / "records" / f"{name}.json"
    golden(file, RECORDS[name].model_dump_json(by_alias=True, indent=2) + "\n")
    content: dict[str, Any] = json.loads(file.read_text())
    jsonschema.validate(content, json.loads((SCHEMAS / f"{name}.json").read_text()))
    assert type(RECORDS[name]).model_validate(content) == RECORDS[name]


def test_a_step_key_never_changes_for_the_same_work(golden: Callable[[Path, str], None]) -> None:
    golden(Path(__file__).parent / "records" / "step-key.txt", KEY + "\n")
    assert len(canonical_json(KEY)) == 66
