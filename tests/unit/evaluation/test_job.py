"""The evaluation's configuration and its job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldenpath.errors import ConfigError
from goldenpath.evaluation import EvaluationJob
from goldenpath.evaluation.evaluate import job_spec
from goldenpath.evaluation.signature import read_signature
from goldenpath.jobs import Place
from goldenpath.store import Store
from goldenpath.validation import validated


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "'evaluator' is missing"),
        ({"evaluator": "evaluate.py"}, "module:function"),
        ({"evaluator": "a:b:c"}, "module:function"),
        ({"evaluator": "a:b", "env": {"GOLDENPATH_STORE": "x"}}, "is reserved"),
        ({"evaluator": "a:b", "env": {"HF_TOKEN": "x"}}, "looks like a credential"),
        ({"evaluator": "a:b", "run_timeout_s": 0}, "greater than 0"),
        ({"evaluator": "a:b", "processes": 2}, "unknown"),
    ],
)
def test_a_wrong_configuration_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validated(EvaluationJob, fields, where="evaluation")


def test_what_is_evaluated_is_part_of_the_jobs_digest(memory_store: Store, tmp_path: Path) -> None:
    place = Place(run="r", step="s", store=memory_store, work_dir=tmp_path, cache_dir=tmp_path, tracking="")
    job = EvaluationJob(evaluator="a:b", params={"k": 1})
    specs = [
        job_spec(job, model="m1", dataset="d1", source="", place=place),
        job_spec(job, model="m2", dataset="d1", source="", place=place),
        job_spec(job, model="m1", dataset="d2", source="", place=place),
        job_spec(
            job.model_copy(update={"params": {"k": 2}}), model="m1", dataset="d1", source="", place=place
        ),
    ]
    assert len({spec.digest for spec in specs}) == 4
    assert specs[0] == job_spec(job, model="m1", dataset="d1", source="", place=place)


@pytest.mark.parametrize(
    "content", [None, "", "[", "signature:\n  inputs: '{'", "signature: 3", "signature: {inputs: '[1]'}"]
)
def test_an_unreadable_signature_is_none(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "MLmodel").write_text(content)
    assert read_signature(tmp_path) is None
