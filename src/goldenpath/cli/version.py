"""``goldenpath version``."""

from __future__ import annotations

import sys

import typer

from goldenpath import __version__
from goldenpath.cli.output import JsonFlag, emit

app = typer.Typer(add_completion=False)


@app.command()
def version(as_json: JsonFlag = False) -> None:
    """Prints the version of goldenpath and of Python."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    emit({"goldenpath": __version__, "python": python}, as_json=as_json, text=__version__)
