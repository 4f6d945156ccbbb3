"""``goldenpath judge``: the canary judge on records and on simulated traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldenpath.cli.output import JsonFlag, emit
from goldenpath.errors import InputError

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Replay or simulate the canary judge.")

_EXIT = {"pass": 0, "fail": 4, "inconclusive": 3, "error": 3}


@app.command()
def replay(
    record: Annotated[Path, typer.Argument(help="The record of a judged step: samples-<step>.jsonl.")],
    as_json: JsonFlag = False,
) -> None:
    """Judges a recorded step again: the same samples, the same verdict."""
    from goldenpath.serving.judge.record import read_record
    from goldenpath.serving.judge.verdict import judge

    try:
        text = record.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{record} cannot be read: {error}.") from None
    read = read_record(text, where=str(record))
    judgement = judge(read.spec, read.samples)
    lines = [f"{judgement.verdict.value}: {judgement.reason}"]
    lines += [f"  {metric.verdict.value:13}{metric.sentence}" for metric in judgement.metrics]
    emit(judgement, as_json=as_json, text="\n".join(lines))
    raise typer.Exit(_EXIT[judgement.verdict.value])


@app.command()
def simulate(
    error_rate: Annotated[float, typer.Option(help="The stable arm's true error rate.")] = 0.01,
    harm: Annotated[float, typer.Option(help="How much higher the harmful canary's is.")] = 0.02,
    rps: Annotated[float, typer.Option(help="Requests a second, half of them at the canary.")] = 100.0,
    look_s: Annotated[float, typer.Option(help="Seconds between two looks.")] = 4.0,
    looks: Annotated[int, typer.Option(help="Looks a rollout.")] = 30,
    rollouts: Annotated[int, typer.Option(help="Rollouts of each kind.")] = 2000,
    margin: Annotated[float, typer.Option(help="The harm that our judge tolerates.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="Our judge's level.")] = 0.05,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """How often judges cry wolf, and how soon they find a harm, on the same simulated streams."""
    from goldenpath.serving.judge.simulate import simulate as play

    result = play(
        error_rate=error_rate,
        harm=harm,
        requests=round(rps * look_s / 2),
        looks=looks,
        rollouts=rollouts,
        margin=margin,
        alpha=alpha,
        seed=seed,
    )
    lines = [
        f"{result.rollouts} rollouts of {result.looks} looks, {result.requests} requests an arm between two; "
        f"true error rate {error_rate:.2%}, harm {harm:.2%}",
        f"{'judge':33}{'false alarms':>13}{'detected':>10}{'median look':>13}",
    ]
    for row in result.judges:
        median = "-" if row.median_looks is None else f"{row.median_looks:g}"
        lines.append(f"{row.judge:33}{row.false_alarms:>13.1%}{row.detected:>10.1%}{median:>13}")
    emit(result, as_json=as_json, text="\n".join(lines))
