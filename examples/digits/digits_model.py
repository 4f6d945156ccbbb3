"""How the digits model answers: the code that MLflow puts into the published model."""

from __future__ import annotations

import time
from typing import Any

import mlflow
import numpy as np
from mlflow.pyfunc.model import PythonModel, PythonModelContext

LEAKS_AFTER = 100
"""How many requests the leaking model answers before it fails."""


class DigitsModel(PythonModel):
    """One hidden layer in numpy: 64 pixels between 0 and 1 in, a digit out."""

    def load_context(self, context: PythonModelContext) -> None:
        """Reads the weights; plain arrays, no pickle."""
        with np.load(context.artifacts["weights"], allow_pickle=False) as weights:
            self.weights = dict(weights)
        self.fault = str(self.weights.pop("fault"))
        self.answers = 0

    def scores(self, pixels: np.ndarray) -> np.ndarray:
        """The probability of each digit: rows x 10."""
        w = self.weights
        hidden = np.maximum(pixels @ w["0.weight"].T + w["0.bias"], 0)
        logits = hidden @ w["2.weight"].T + w["2.bias"]
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponents / exponents.sum(axis=1, keepdims=True)

    def predict(self, context: Any, model_input: Any, params: dict[str, Any] | None = None) -> Any:  # noqa: ARG002
        """The most probable digit of each row."""
        pixels = np.asarray(model_input, dtype=np.float64)
        self.answers += 1
        # The bugs that `goldenpath demo --bad-canary` ships: an evaluation in one batch and a warm-up pass,
        # and only production can tell.
        if self.fault == "error" and self.answers > LEAKS_AFTER:
            raise OSError("too many open files")
        if self.fault == "slow" and len(pixels) == 1:
            time.sleep(0.3)
        return self.scores(pixels).argmax(axis=1)


mlflow.models.set_model(DigitsModel())
