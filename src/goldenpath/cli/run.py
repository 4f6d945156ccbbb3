"""``goldenpath run``: a golden path on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from goldenpath import settings
from goldenpath.cli.output import JsonFlag, emit
from goldenpath.cli.progress import shown
from goldenpath.errors import ConfigError
from goldenpath.submit import ENGINES, PathResult, load_path, run_path

app = typer.Typer(add_completion=False)

_INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C ended."""


@app.command()
def run(
    path: Annotated[str, typer.Argument(help="The path, such as train-to-serve.")],
    file: Annotated[Path, typer.Option("-f", "--file", help="The path file (YAML).")],
    engine: Annotated[str, typer.Option(help=f"One of {', '.join(ENGINES)}.")] = "local",
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Overrides one key: training.nodes=2.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run even if nothing changed.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Runs a path on this machine; a killed run goes on where it was."""
    if engine not in ENGINES:
        raise ConfigError(f"There is no engine {engine!r}.", next_step=f"Engines: {', '.join(ENGINES)}.")
    loaded = load_path(path, file, overrides=overrides or ())
    try:
        with shown():
            result = run_path(loaded, settings=settings.load(), engine=engine, force=force)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. The same command goes on from here.\n")
        raise typer.Exit(_INTERRUPTED) from None
    emit(result, as_json=as_json, text=summary(result))
    raise typer.Exit(result.exit_code)


def summary(result: PathResult) -> str:
    """A run's end for people."""
    lines = [f"{result.outcome.value}: {result.reason}" if result.reason else result.outcome.value]
    if result.same_as:
        lines[0] = f"unchanged: code, data, configuration and image are those of run {result.same_as}"
    rows = {
        "run": result.run,
        "model": result.model,
        "trained on": result.dataset,
        "metrics": _numbers(result.metrics),
        "compared with": result.compared_with,
        "its metrics": _numbers(result.compared_metrics),
        "serving": result.champion,
        "report": result.report,
        "rollout": result.rollout,
        "endpoint": result.url,
    }
    lines += [f"  {name:14}{value}" for name, value in rows.items() if value]
    return "\n".join(lines)


def _numbers(metrics: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
