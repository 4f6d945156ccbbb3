"""``goldenpath compile``: a golden path as a file for an engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from goldenpath import progress, settings
from goldenpath.cli.progress import shown
from goldenpath.errors import ConfigError
from goldenpath.provenance import code_identity
from goldenpath.submit import load_path
from goldenpath.submit.compiling import TARGETS, compile_path

app = typer.Typer(add_completion=False)


@app.command()
def compile(  # noqa: A001  (the command's name)
    path: Annotated[str, typer.Argument(help="The path, such as train-to-serve.")],
    file: Annotated[Path, typer.Option("-f", "--file", help="The path file (YAML).")],
    target: Annotated[str, typer.Option("--to", help=f"One of {', '.join(TARGETS)}.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; standard output without it.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Overrides one key: training.nodes=2.")
    ] = None,
) -> None:
    """Compiles a path: YAML for KFP's upload, or an Argo WorkflowTemplate."""
    loaded = load_path(path, file, overrides=overrides or ())
    with shown(), progress.task(f"Compiling {path} for {target}"):
        text = compile_path(loaded, target, settings=settings.load(), code=code_identity(loaded.folder))
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror}.") from None
