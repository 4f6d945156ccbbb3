"""The job of an evaluation: ``python -m goldenpath.evaluation.runner MODULE:FUNCTION MODEL DATASET``.

Fetches model and dataset, calls the evaluator, and writes the rows and then, as its last act, the
output ``evaluation``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from goldenpath import registry
from goldenpath.errors import ConfigError, GoldenPathError
from goldenpath.evaluation.answer import checked
from goldenpath.evaluation.document import OUTPUT, put_rows
from goldenpath.evaluation.parquet import write_rows
from goldenpath.evaluation.signature import read_signature
from goldenpath.jobs import JobContract, fetched, from_environment, write_output
from goldenpath.refs import Kind, parse
from goldenpath.store import open_store


def main(evaluator: str, model: str, dataset: str) -> None:
    """Runs one evaluation inside its job."""
    contract = from_environment()
    store = open_store(contract.store)
    function = load(evaluator)
    _check_arguments(function, evaluator, contract)
    cache = Path(contract.cache_dir)
    digest = parse(model, store=store.url, kind=Kind.MODELS).digest
    if digest is None:
        raise ConfigError(f"The model {model} has no digest.", next_step="Evaluate a pinned reference.")
    model_folder = registry.fetch(model, cache / "models" / digest, store=store)
    dataset_folder = fetched(dataset, cache / "datasets", store=store)
    answer = checked(function(model_folder, dataset_folder, **contract.params), evaluator=evaluator)
    rows = put_rows(store, write_rows(answer.table)) if answer.rows is not None else ""
    write_output(
        contract,
        OUTPUT,
        {
            "metrics": answer.metrics,
            "rows": rows,
            "n": answer.rows.n if answer.rows is not None else 0,
            "model_bytes": sum(path.stat().st_size for path in model_folder.rglob("*") if path.is_file()),
            "signature": read_signature(model_folder),
        },
    )


def load(evaluator: str) -> Callable[..., Any]:
    """The function of ``module:function``.

    Raises:
        ConfigError: There is no such module or function.
    """
    module_name, _, name = evaluator.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise
        raise ConfigError(
            f"The evaluator's module {module_name!r} was not found in {Path.cwd()} or the image.",
            next_step="Name a module of the source: evaluate:evaluate for evaluate.py.",
        ) from None
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(known) or 'no function'}."
        raise ConfigError(f"The module {module_name!r} has no function {name!r}.", next_step=hint)
    return function  # type: ignore[no-any-return]  # getattr's answer, found callable


def _check_arguments(function: Callable[..., Any], evaluator: str, contract: JobContract) -> None:
    # Before a model of many gigabytes is fetched for a call that cannot be made.
    try:
        inspect.signature(function).bind(Path(), Path(), **contract.params)
    except TypeError as error:
        raise ConfigError(
            f"{evaluator} cannot be called: {error}.",
            next_step="It takes the model's folder, the dataset's folder, and each of params by its name.",
        ) from None


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except GoldenPathError as problem:
        sys.stderr.write(f"Error: {problem}\n")
        sys.exit(problem.exit_code)
