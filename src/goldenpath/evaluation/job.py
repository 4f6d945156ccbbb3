"""The configuration of an evaluation, as path files hold it."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from goldenpath.jobs.variables import check_variables

_EVALUATOR = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def _evaluator(value: str) -> str:
    if not _EVALUATOR.fullmatch(value):
        raise ValueError("it is written module:function, such as evaluate:evaluate")
    return value


def _variables(value: dict[str, str]) -> dict[str, str]:
    check_variables(value)
    return value


class EvaluationJob(BaseModel):
    """The evaluator, and what it needs to run.

    The evaluator is a function of the model's folder and the dataset's folder, both local and verified,
    and of ``params`` as keywords. It returns its metrics, or its metrics and one row an example:

        def evaluate(model: Path, dataset: Path) -> tuple[dict[str, float], pandas.DataFrame]

    Rows are a DataFrame, a pyarrow table or a list of dicts; ``goldenpath.evaluation.rows`` has the
    columns. Without rows a gate has floors and ceilings alone to go by.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    outside_identity: ClassVar[frozenset[str]] = frozenset({"queue", "backend", "run_timeout_s"})
    """Where and when it runs, which makes no other numbers."""

    evaluator: Annotated[str, AfterValidator(_evaluator)]
    """``module:function`` in the source or the image."""
    params: dict[str, JsonValue] = {}
    """Keyword arguments of the function. By default none."""
    image: str = ""
    """The image that it runs in; by default the platform's. This machine's Python with ``local``."""
    accelerators: Annotated[int, Field(ge=0)] = 0
    """How many accelerators it asks for. By default none."""
    queue: str | None = None
    """The Kueue LocalQueue; by default none, where the platform allows that."""
    backend: str = "local"
    """Where it runs."""
    run_timeout_s: Annotated[float, Field(gt=0)] | None = None
    """Seconds that it may run; by default for ever."""
    env: Annotated[dict[str, str], AfterValidator(_variables)] = {}
    """Variables for the evaluator. Credentials are no part of it: they come from the environment."""
