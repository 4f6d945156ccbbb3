"""The gate over stored evaluations: its documents, its report, and damaged evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from goldenpath.errors import ConfigError, DataDamaged, InputError, NotFound
from goldenpath.evaluation import GatePolicy, gate
from goldenpath.evaluation.document import EvaluationDocument, put_evaluation, put_rows
from goldenpath.evaluation.parquet import write_rows
from goldenpath.store import Store, get_document

MODEL = "models/digits@sha256:" + "a" * 64
CHAMPION = "models/digits:3@sha256:" + "b" * 64
DATASET = "datasets/test:1@sha256:" + "c" * 64


def evaluation(store: Store, wrong: int, *, model: str, n: int = 1000, **fields: Any) -> str:
    label = np.arange(n) % 2
    table = pa.table(
        {
            "id": np.arange(n),
            "label": label,
            "prediction": np.where(np.arange(n) < wrong, 1 - label, label),
        }
    )
    document = EvaluationDocument(
        model=f"{store.url}/{model}",
        dataset=f"{store.url}/{DATASET}",
        evaluator="m:f",
        metrics={"accuracy": 1 - wrong / n},
        rows=put_rows(store, write_rows(table)),
        n=n,
        model_bytes=10,
        **fields,
    )
    return put_evaluation(store, document)


def test_a_verdict_is_kept_with_all_it_rests_on(memory_store: Store) -> None:
    mine = evaluation(memory_store, 10, model=MODEL)
    other = evaluation(memory_store, 100, model=CHAMPION)
    found = gate(mine, other, GatePolicy(), store=memory_store, report_key="runs/r/steps/gate/report.html")
    assert found.verdict == "passed"
    kept = get_document(found.gate)
    assert kept["kind"] == "gate"
    assert kept["verdict"] == "passed"
    assert (kept["candidate"], kept["champion"]) == (mine, other)
    assert kept["rules"][0]["sentence"] == found.rules[0].sentence
    assert kept["policy"]["rules"][0]["kind"] == "no_regression"
    html = memory_store.get("runs/r/steps/gate/report.html").decode()
    assert found.report == memory_store.uri("runs/r/steps/gate/report.html")
    assert "against digits:3" in html
    assert mine in html


def test_judged_again_it_is_the_same_document_and_report(memory_store: Store) -> None:
    mine = evaluation(memory_store, 10, model=MODEL)
    first = gate(mine, "", GatePolicy(), store=memory_store, report_key="report.html")
    html = memory_store.get("report.html")
    assert gate(mine, "", GatePolicy(), store=memory_store, report_key="report.html") == first
    assert memory_store.get("report.html") == html
    assert first.verdict == "no_evidence"


def test_damaged_or_absent_evidence_raises_and_keeps_no_verdict(memory_store: Store) -> None:
    mine = evaluation(memory_store, 10, model=MODEL)
    other = evaluation(memory_store, 10, model=CHAMPION, n=900)
    rows = get_document(other)["rows"]
    memory_store.put(rows.removeprefix(memory_store.url + "/"), b"other bytes")
    with pytest.raises(DataDamaged, match="damaged"):
        gate(mine, other, GatePolicy(), store=memory_store, report_key="report.html")
    memory_store.delete(rows.removeprefix(memory_store.url + "/"))
    with pytest.raises(NotFound):
        gate(mine, other, GatePolicy(), store=memory_store, report_key="report.html")
    assert memory_store.get_or_none("report.html") is None


def test_what_is_no_evaluation_is_refused(memory_store: Store) -> None:
    mine = evaluation(memory_store, 10, model=MODEL)
    verdict = gate(mine, "", GatePolicy(), store=memory_store, report_key="report.html").gate
    with pytest.raises(ConfigError, match="'evaluator' is missing"):
        gate(verdict, "", GatePolicy(), store=memory_store, report_key="again.html")
    with pytest.raises(InputError, match="no candidate"):
        gate("", mine, GatePolicy(), store=memory_store, report_key="again.html")
