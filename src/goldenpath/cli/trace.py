"""``goldenpath trace``: from a model to its origins, and from data and code to what came of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from goldenpath import registry, settings
from goldenpath.cli.output import JsonFlag, emit
from goldenpath.cli.progress import shown
from goldenpath.errors import DataDamaged
from goldenpath.registry.lineage.tree import render
from goldenpath.store import open_store

app = typer.Typer(add_completion=False)


@app.command()
def trace(
    thing: Annotated[
        str,
        typer.Argument(
            metavar="X",
            help="models:/NAME@ALIAS, models:/NAME/3, models/NAME:3, datasets/NAME:3, a digest, "
            "a commit or a run.",
        ),
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every digest again; damage ends with exit code 6.")
    ] = False,
    addresses: Annotated[
        bool, typer.Option("--addresses", help="Print the full address of each thing.")
    ] = False,
    statement: Annotated[
        bool, typer.Option("--in-toto", help="Print an in-toto statement with SLSA provenance.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Tells where a model came from: code, data, image, configuration, evaluation, gate, rollout, cost."""
    where = settings.load()
    trusted = Path(where.trusted_key) if where.trusted_key else None
    with shown():
        found = registry.trace(thing, store=open_store(where.store), verify=verify, trusted_key=trusted)
    if statement:
        emit(registry.in_toto(found), as_json=True, text="")
    else:
        text = render(found, colour=sys.stdout.isatty(), addresses=addresses)
        emit(found, as_json=as_json, text=text)
    if verify and found.faults:
        raise DataDamaged(f"{len(found.faults)} do not hold: {'; '.join(found.faults)}")
