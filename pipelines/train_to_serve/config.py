"""The file that a user of the path writes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from goldenpath.data import SnapshotOptions
from goldenpath.evaluation import EvaluationJob, GatePolicy
from goldenpath.provenance import digest_of
from goldenpath.serving import PromotionPlan
from goldenpath.training import TrainingJob

_OUT_OF_DIGEST: dict[str, set[str]] = {
    "training": {"queue", "priority", "topology", "backend", "queue_timeout_s", "run_timeout_s", "grace_s"},
    "evaluation": {"backend", "run_timeout_s"},
    "promotion": {"target", "port"},
}
"""What may change without making another model: where and when, not what."""


class DataSource(BaseModel):
    """Where one dataset comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """A folder or file (relative to the path file), or the URL of an object prefix."""
    name: str = ""
    """The dataset's name in the store; by default ``<model>-<key>``."""
    options: SnapshotOptions = SnapshotOptions()


class Evaluation(EvaluationJob):
    """The evaluator, and the dataset that it is given."""

    dataset: str = "test"
    """The key under ``data`` of the held-out dataset."""

    @property
    def job(self) -> EvaluationJob:
        """The evaluator alone."""
        return EvaluationJob(**self.model_dump(exclude={"dataset"}))


class Config(BaseModel):
    """``train-to-serve``: a training entry point in, a model in service out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Literal["train-to-serve"]
    model: str
    """The registered model's name."""
    service: str = ""
    """The service that the model is promoted to; by default the model's name."""
    source: str = "./"
    """The folder with the user's code, relative to the path file; empty where the image has the code."""
    data: dict[str, DataSource] = Field(min_length=1)
    """The datasets by the names that the training code asks for."""
    training: TrainingJob
    evaluation: Evaluation
    gate: GatePolicy = GatePolicy()
    promotion: PromotionPlan | None = PromotionPlan()
    """How the model is brought into service; null to end with its registration."""

    @model_validator(mode="after")
    def _datasets_exist(self) -> Config:
        if self.evaluation.dataset not in self.data:
            raise ValueError(
                f"evaluation.dataset is {self.evaluation.dataset!r}, but data has {', '.join(self.data)}"
            )
        return self

    @property
    def service_name(self) -> str:
        """The service's name."""
        return self.service or self.model

    @property
    def training_data(self) -> tuple[str, ...]:
        """The keys of the datasets that training sees: never the held-out one, unless it is the only one."""
        seen = tuple(key for key in self.data if key != self.evaluation.dataset)
        return seen or tuple(self.data)

    def dataset_name(self, key: str) -> str:
        """The name in the store of the dataset under a key."""
        return self.data[key].name or f"{self.model}-{key}"

    def digest(self) -> str:
        """The sha256 of what decides the model: defaults included; engine, queue and timeouts not."""
        content = self.model_dump(mode="json")
        for section, names in _OUT_OF_DIGEST.items():
            if content.get(section):
                content[section] = {k: v for k, v in content[section].items() if k not in names}
        return digest_of(content)

    def resolved(self, folder: Path) -> Config:
        """The same configuration with local sources as absolute paths, as seen from ``folder``."""
        data = {
            key: item.model_copy(update={"source": _resolved(item.source, folder)})
            for key, item in self.data.items()
        }
        return self.model_copy(update={"data": data, "source": _resolved(self.source, folder)})


def _resolved(source: str, folder: Path) -> str:
    return source if not source or "://" in source else str((folder / source).resolve())
