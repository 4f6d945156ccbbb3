"""``goldenpath demo``: the digits example from nothing, and how it refuses."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from goldenpath import registry, settings
from goldenpath.cli.output import JsonFlag, emit
from goldenpath.cli.progress import shown
from goldenpath.cli.run import summary
from goldenpath.errors import ConfigError
from goldenpath.provenance import Outcome
from goldenpath.settings import STATE_FOLDER
from goldenpath.store import open_store
from goldenpath.submit import PathResult, load_path, run_path

app = typer.Typer(add_completion=False)

PATH = "train-to-serve"
MODEL = "digits"
BASELINE = ("training.params.hidden=8", "training.params.epochs=8")
WORSE = ("training.params.hidden=2", "training.params.epochs=4")
BAD_CANARY = ("training.params.fault=error",)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where the example is laid out and run.")] = Path(
        "goldenpath-demo"
    ),
    worse: Annotated[
        bool, typer.Option("--worse", help="Retrain badly: the gate refuses the model.")
    ] = False,
    bad_canary: Annotated[
        bool, typer.Option("--bad-canary", help="Promote a model that fails in service: it is rolled back.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Trains, gates, registers, promotes and serves a digits model, from nothing."""
    if worse and bad_canary:
        raise ConfigError("--worse and --bad-canary are two demonstrations.", next_step="Ask for one.")
    _lay_out(folder)
    os.chdir(folder)
    with shown():
        result = _first_champion_then()
        if worse:
            result = _run(*WORSE)
        elif bad_canary:
            result = _run(*BAD_CANARY)
    emit(result, as_json=as_json, text=f"{_told(result)}\n\n{_further(result, folder)}")
    raise typer.Exit(result.exit_code)


def _lay_out(folder: Path) -> None:
    """Copies the example, and makes its data; what is there already stays as the user left it."""
    source = resources.files("goldenpath") / "examples" / MODEL
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"The folder {folder} cannot be made: {error.strerror}.", next_step="Name another (--dir)."
        ) from None
    for item in source.iterdir():
        if item.is_file() and not (folder / item.name).exists():
            with resources.as_file(item) as path:
                shutil.copyfile(path, folder / item.name)
    if not (folder / "data").exists():
        done = subprocess.run(
            [sys.executable, "prepare.py"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ConfigError(
                f"The example's data could not be made: {done.stderr.strip().splitlines()[-1]}",
                next_step="Install goldenpath[local].",
            )


def _first_champion_then() -> PathResult:
    """A small baseline becomes champion if there is none yet; then the real model must beat it."""
    where = settings.load()
    if "champion" not in registry.aliases(MODEL, store=open_store(where.store)).refs:
        baseline = _run(*BASELINE)
        if baseline.outcome is not Outcome.PROMOTED:
            return baseline
    return _run()


def _run(*overrides: str) -> PathResult:
    return run_path(load_path(PATH, Path("path.yaml"), overrides=overrides), settings=settings.load())


def _told(result: PathResult) -> str:
    sentences = {
        Outcome.PROMOTED: "The model was promoted: it passed the gate, then held in service.",
        Outcome.UNCHANGED: "Nothing changed since the last run, so nothing was trained.",
        Outcome.REFUSED: "The gate refused the model; the champion goes on serving.",
        Outcome.ROLLED_BACK: "The canary was rolled back; the champion never stopped serving.",
    }
    first = sentences.get(result.outcome, "")
    return f"{first}\n{summary(result)}" if first else summary(result)


def _further(result: PathResult, folder: Path) -> str:
    # Started by make, the command is in an environment that the user's shell has not entered.
    command = "goldenpath" if shutil.which("goldenpath") else str(Path(sys.executable).parent / "goldenpath")
    lines = ["To look further:", f"  cd {shlex.quote(str(folder))}"]
    rows = {
        f"{command} trace models:/{MODEL}@champion": "where the model came from",
        f"{command} serve status {MODEL}": "what serves, with which share",
        f"{command} serve stop {MODEL}": "stops the endpoint",
    }
    width = max(map(len, rows))
    lines += [f"  {line:{width}}  # {what}" for line, what in rows.items()]
    pages = {"the gate's report": result.report, "the rollout": _page(result.rollout)}
    lines += [f"  {what}, for a browser: {page}" for what, page in pages.items() if page]
    if result.url:
        lines += _asked(result.url)
    return "\n".join(lines)


def _page(rollout: str) -> str:
    """The picture beside a rollout's record."""
    return f"{rollout.removesuffix('.json')}/report.html" if rollout else ""


def _asked(url: str) -> list[str]:
    """A request to the live endpoint, and its answer."""
    import httpx

    with (Path("data") / "test" / "digits.csv").open() as file:
        rows = csv.reader(file)
        next(rows)
        *pixels, label = next(rows)
    body = json.dumps({"instances": [[int(pixel) / 16 for pixel in pixels]]})
    # Not beside the code: a new file there would be a change, and the next demo would train again.
    request = Path(STATE_FOLDER) / "request.json"
    request.write_text(body + "\n")
    address = f"{url}/v1/models/{MODEL}:predict"
    try:
        answer = httpx.post(address, content=body, headers={"content-type": "application/json"}, timeout=10)
    except httpx.TransportError as error:
        return [f"  The endpoint {url} does not answer: {error}."]
    return [
        f"  curl -s {address} -H 'content-type: application/json' -d @{request}",
        f"  {answer.text.strip()}   (the scan shows a {label})",
    ]
