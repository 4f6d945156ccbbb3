"""The file that a user of the path writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from goldenpath.data import SnapshotOptions
from goldenpath.errors import RefError
from goldenpath.evaluation import EvaluationJob, GatePolicy
from goldenpath.provenance import digest_of, identity_of
from goldenpath.refs import Kind, check_name
from goldenpath.serving import PromotionPlan
from goldenpath.training import TrainingJob

_KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def _named(value: str) -> str:
    """A name as references hold it; ValueError for others, so that pydantic tells its place."""
    try:
        return check_name(value, Kind.MODELS)
    except RefError as error:
        raise ValueError(str(error)) from None


class DataSource(BaseModel):
    """Where one dataset comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """A folder or file (relative to the path file), or the URL of an object prefix."""
    name: str = ""
    """The dataset's name in the store; by default ``<model>-<key>``."""
    options: SnapshotOptions = SnapshotOptions()

    @field_validator("name")
    @classmethod
    def _name_fits_the_store(cls, value: str) -> str:
        return _named(value) if value else value


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
    source_options: SnapshotOptions = SnapshotOptions(preset="code")
    """What the snapshot of the code leaves out; the datasets inside the folder are left out always."""
    data: dict[str, DataSource] = Field(min_length=1)
    """The datasets by the names that the training code asks for."""
    training: TrainingJob
    evaluation: Evaluation
    gate: GatePolicy = GatePolicy()
    promotion: PromotionPlan | None = PromotionPlan()
    """How the model is brought into service; null to end with its registration."""

    @field_validator("model", "service")
    @classmethod
    def _names_fit_the_store(cls, value: str) -> str:
        return _named(value) if value else value

    @field_validator("data")
    @classmethod
    def _keys_fit_step_names(cls, value: dict[str, DataSource]) -> dict[str, DataSource]:
        for key in value:
            if not _KEY.fullmatch(key):
                raise ValueError(
                    f"the key {key!r} is not 1 to 40 of a-z, 0-9 and '-', a letter or digit first"
                )
        return value

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
        return digest_of(identity_of(self))

    def resolved(self, file: Path) -> Config:
        """The same configuration as its steps need it: local sources absolute, as seen from the path file.

        The snapshot of the code leaves out what has a version of its own: the datasets that lie in the
        folder, and the path file, which is recorded as the configuration.
        """
        folder = file.parent
        data = {
            key: item.model_copy(update={"source": _resolved(item.source, folder)})
            for key, item in self.data.items()
        }
        source = _resolved(self.source, folder)
        apart = [file, *(Path(item.source) for item in data.values() if "://" not in item.source)]
        exclude = (*self.source_options.exclude, *(_inside(source, path) for path in apart))
        options = self.source_options.model_copy(update={"exclude": tuple(filter(None, exclude))})
        return self.model_copy(update={"data": data, "source": source, "source_options": options})


def _resolved(source: str, folder: Path) -> str:
    return source if not source or "://" in source else str((folder / source).resolve())


def _inside(source: str, path: Path) -> str:
    """The pattern that leaves a path out of the source folder; empty where it is not below it."""
    if not source or not path.is_relative_to(source) or path == Path(source):
        return ""
    relative = path.relative_to(source).as_posix()
    return f"{relative}/**" if path.is_dir() else relative
