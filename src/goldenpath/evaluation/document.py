"""The evaluation document: all that an evaluation measured, under one digest."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from goldenpath.errors import DataDamaged
from goldenpath.evaluation.case import EvaluationData
from goldenpath.evaluation.parquet import parse_rows
from goldenpath.provenance import sha256_hex
from goldenpath.store import Store, get_document, keys, open_store, put_document
from goldenpath.validation import validated

OUTPUT = "evaluation"
"""The output of the evaluation's job: the fields below that the job finds out."""
_OBJECTS = "/objects/sha256/"


class EvaluationDocument(BaseModel):
    """What was evaluated, by which evaluator, with which result."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    schema_: Literal[1] = Field(default=1, alias="schema")
    kind: Literal["evaluation"] = "evaluation"
    model: str
    dataset: str
    source: str = ""
    evaluator: str
    params: dict[str, Any] = {}
    metrics: dict[str, float]
    rows: str = ""
    """The URI of the rows in parquet; empty where the evaluator returned none."""
    n: int
    model_bytes: int
    """The size of the model's files."""
    signature: dict[str, Any] | None = None
    """Inputs and outputs by name, from the model's MLmodel file where it has one."""

    def data(self) -> EvaluationData:
        """The evaluation as the judge reads it; fetches and validates the rows."""
        return EvaluationData(
            rows=parse_rows(get_rows(self.rows), where=self.rows) if self.rows else None,
            metrics={**self.metrics, "model_bytes": float(self.model_bytes)},
            signature=self.signature,
            model=self.model,
            dataset=self.dataset,
        )


def put_evaluation(store: Store, document: EvaluationDocument) -> str:
    """Stores an evaluation and returns its URI."""
    return put_document(store, document.model_dump(mode="json", by_alias=True))


def get_evaluation(uri: str) -> EvaluationDocument:
    """Reads an evaluation back.

    Raises:
        ConfigError: The document is no evaluation.
        NotFound: There is no such document.
        DataDamaged: Its bytes are not those of its digest.
    """
    return validated(EvaluationDocument, get_document(uri), where=uri)


def put_rows(store: Store, data: bytes) -> str:
    """Stores the parquet bytes of rows under their digest and returns the URI."""
    key = keys.object_(sha256_hex(data))
    # Written again, not only created: an old object becomes young, and no garbage collection takes it.
    store.put(key, data)
    return store.uri(key)


def get_rows(uri: str) -> bytes:
    """Reads rows back.

    Raises:
        NotFound: There is no such object.
        DataDamaged: Its bytes are not those of its digest.
    """
    store_url, _, tail = uri.rpartition(_OBJECTS)
    hex_digest = tail.rpartition("/")[2]
    data = open_store(store_url).get(keys.object_(hex_digest))
    if sha256_hex(data) != hex_digest:
        raise DataDamaged(f"The rows {uri} are damaged: their bytes have the sha256 {sha256_hex(data)}.")
    return data
