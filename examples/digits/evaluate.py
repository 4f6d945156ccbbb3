"""Scores a digits model on a held-out dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np


def evaluate(model: Path, dataset: Path) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The accuracy, and one row for each scan, so that a gate can compare two models pair by pair."""
    rows = np.loadtxt(dataset / "digits.csv", delimiter=",", skiprows=1)
    labels = rows[:, -1].astype(int)
    pyfunc = mlflow.pyfunc.load_model(str(model))
    predictions = np.asarray(pyfunc.predict((rows[:, :-1] / 16).astype(np.float32)))
    examples = [
        {"id": number, "label": int(label), "prediction": int(prediction), "slice_digit": str(label)}
        for number, (label, prediction) in enumerate(zip(labels, predictions, strict=True))
    ]
    return {"accuracy": float((predictions == labels).mean())}, examples
