"""``goldenpath settings``."""

from __future__ import annotations

import typer

from goldenpath import settings as settings_module
from goldenpath.cli.output import JsonFlag, emit
from goldenpath.masking import masked
from goldenpath.settings import NAMES

app = typer.Typer(add_completion=False)


@app.command()
def settings(as_json: JsonFlag = False) -> None:
    """Prints each setting, and where its value came from; passwords in URLs are masked."""
    found = settings_module.load()
    rows = {name: {"value": masked(getattr(found, name)), "source": found.sources[name]} for name in NAMES}
    width = max(map(len, NAMES))
    text = "\n".join(
        f"{name:{width}}  {row['value'] or '-'}  ({row['source']})" for name, row in rows.items()
    )
    emit(rows, as_json=as_json, text=text)
