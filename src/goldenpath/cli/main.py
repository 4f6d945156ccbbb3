"""The ``goldenpath`` command: groups are loaded when they are asked for, so that help is quick."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from typing import Any

import typer
import typer.core
import typer.main

from goldenpath.errors import GoldenPathError
from goldenpath.masking import masked

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("goldenpath.cli.run", "Run a golden path on this machine."),
    "compile": ("goldenpath.cli.compile", "Compile a golden path for KFP or Argo."),
    "step": ("goldenpath.cli.step", "Run one component by its name."),
    "trace": ("goldenpath.cli.trace", "Trace a model, a dataset or a commit."),
    "gate": ("goldenpath.cli.gate", "Judge one evaluation against another."),
    "judge": ("goldenpath.cli.judge", "Replay or simulate the canary judge."),
    "data": ("goldenpath.cli.data", "Dataset versions."),
    "checkpoint": ("goldenpath.cli.checkpoint", "Checkpoints of a run."),
    "model": ("goldenpath.cli.model", "Registered models."),
    "serve": ("goldenpath.cli.serve", "Services and their rollouts."),
    "components": ("goldenpath.cli.components", "The catalogue of components."),
    "settings": ("goldenpath.cli.settings", "Each setting, and where it came from."),
    "demo": ("goldenpath.cli.demo", "Run the digits example from nothing."),
    "version": ("goldenpath.cli.version", "Print the version."),
}
"""Every top-level command: the module that holds its typer ``app``, and its one line of help."""


class _LazyGroup(typer.core.TyperGroup):
    """Finds commands by ``COMMANDS`` and imports a module only to run or explain its command."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (the framework's signature)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(importlib.import_module(COMMANDS[cmd_name][0]).app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def root(
    verbose: bool = typer.Option(False, "-v", "--verbose", help="Show tracebacks and debug lines."),
) -> None:
    """From a training entry point and a queue name to a traceable model in production."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING, format="%(levelname)s %(message)s"
    )


def main() -> None:
    """Runs the command line; errors become one sentence and an exit code."""
    # -v is the root's option, but people write it at the end: it is taken from anywhere.
    verbose = bool({"-v", "--verbose"} & set(sys.argv[1:]))
    arguments = [a for a in sys.argv[1:] if a not in ("-v", "--verbose")]
    if not verbose:
        # MLflow tells of its database's tables at every first use.
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    try:
        app(["-v", *arguments] if verbose else arguments)
    except GoldenPathError as error:
        if verbose:
            sys.stderr.write(masked(traceback.format_exc()))
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(error.exit_code)
    except OSError as error:
        # This machine's: a full disk, a folder that is not ours.
        if verbose:
            sys.stderr.write(masked(traceback.format_exc()))
        sys.stderr.write(f"Error: {masked(str(error))}. -v shows where.\n")
        sys.exit(GoldenPathError.exit_code)
