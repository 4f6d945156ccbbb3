"""``goldenpath checkpoint``: the checkpoints of a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from goldenpath import checkpoint, settings
from goldenpath.checkpoint import CheckpointInfo, CheckpointPolicy, KeepBest
from goldenpath.checkpoint.interval import advised_interval
from goldenpath.cli.output import JsonFlag, emit, size
from goldenpath.errors import NotFound
from goldenpath.journal import Journal
from goldenpath.store import Store, open_store
from goldenpath.training import Goodput

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Checkpoints of a run.")

Run = Annotated[str, typer.Argument(help="The run's name.")]
CheckpointRef = Annotated[
    str, typer.Argument(metavar="REF", help="A checkpoint: run, run:step, or a full reference.")
]


@app.command("list")
def list_(run: Run, as_json: JsonFlag = False) -> None:
    """List the checkpoints of a run, the newest last."""
    found = checkpoint.list_checkpoints(run, store=_store())
    emit(found, as_json=as_json, text="\n".join(map(_line, found)) or f"Run {run} has no checkpoint.")


@app.command()
def show(ref: CheckpointRef, as_json: JsonFlag = False) -> None:
    """Show what a checkpoint holds: each array's type, shape and place."""
    _, manifest, info = checkpoint.resolve(ref, store=_store())
    value = {
        **asdict(info),
        "arrays": {name: {"dtype": a.dtype, "shape": a.shape} for name, a in manifest.arrays.items()},
        "objects": [item.model_dump() for item in manifest.objects],
    }
    lines = [
        info.ref,
        f"step {info.step}, attempt {info.attempt}, {info.world_size} ranks, {size(info.size)} in "
        f"{len(manifest.objects)} objects, committed {info.created_at}",
        *(f"  {name} = {metric:g}" for name, metric in info.metrics.items()),
        *(f"  {name}: {array.dtype}{list(array.shape)}" for name, array in manifest.arrays.items()),
    ]
    emit(value, as_json=as_json, text="\n".join(lines))


@app.command()
def verify(ref: CheckpointRef, as_json: JsonFlag = False) -> None:
    """Read every object of a checkpoint and compare it with its digest."""
    info = checkpoint.verify(ref, store=_store())
    emit(info, as_json=as_json, text=f"{info.ref} is whole: {size(info.size)} verified.")


@app.command()
def select(
    run: Run,
    metric: Annotated[str, typer.Option(help="The metric that decides; without it, the newest.")] = "",
    mode: Annotated[Literal["min", "max"], typer.Option(help="Which value is best.")] = "max",
    as_json: JsonFlag = False,
) -> None:
    """Pick the newest usable checkpoint of a run, or the best one by a metric."""
    info = checkpoint.select(run, store=_store(), metric=metric, mode=mode)
    emit(info, as_json=as_json, text=_line(info))


@app.command()
def prune(
    run: Run,
    keep_last: Annotated[int, typer.Option(help="The newest ones that stay.")] = 3,
    keep_best: Annotated[int, typer.Option(help="The best ones that stay, by --metric.")] = 1,
    metric: Annotated[str, typer.Option(help="The metric of --keep-best; without it, none.")] = "",
    mode: Annotated[Literal["min", "max"], typer.Option(help="Which value is best.")] = "max",
    keep_every_steps: Annotated[int, typer.Option(help="Steps that this divides stay; 0: none.")] = 0,
    pin: Annotated[list[int] | None, typer.Option(help="A step that stays; may be repeated.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete old checkpoints, and data that killed attempts left a day ago or longer."""
    policy = CheckpointPolicy(
        keep_last=keep_last,
        keep_best=KeepBest(metric=metric, mode=mode, count=keep_best) if metric else None,
        keep_every_steps=keep_every_steps,
        pins=tuple(pin or ()),
    )
    found = checkpoint.prune(run, store=_store(), policy=policy, dry_run=dry_run)
    verb = "would go" if dry_run else "are gone"
    steps = ", ".join(map(str, found.dropped)) or "none"
    text = (
        f"Steps that {verb}: {steps}; {found.abandoned} abandoned objects; {size(found.size)}. "
        f"{len(found.kept)} checkpoints stay."
    )
    emit(found, as_json=as_json, text=text)


@app.command()
def export(
    ref: CheckpointRef,
    dest: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a checkpoint as plain files: tensors.safetensors and state.json."""
    info = checkpoint.export(ref, dest, store=_store())
    emit(info, as_json=as_json, text=f"{info.ref} is in {dest}.")


@app.command()
def goodput(run: Run, as_json: JsonFlag = False) -> None:
    """Tell where a run's time went, and how often it should save."""
    store = _store()
    results = [r for r in Journal(store).steps(run) if r.component == "training.launch"]
    if not results:
        raise NotFound(
            f"Run {run} has no finished training.", next_step="goldenpath checkpoint list shows its saves."
        )
    outputs = results[-1].outputs
    found = Goodput(**outputs["goodput"])
    failures = outputs["restarts"] + outputs["evictions"]
    advised = advised_interval(
        save_s=checkpoint.mean_stall_s(run, store=store), running_s=found.running_s, failures=failures
    )
    lines = [
        f"productive {found.share:.1%}: {found.productive_s:.0f} s",
        f"saving {found.saving_s:.1f} s, loading {found.loading_s:.1f} s, lost {found.lost_s:.1f} s, "
        f"waiting {found.waiting_s:.0f} s",
        f"{failures} interruptions",
        "No interruption to advise an interval from."
        if advised is None
        else f"Save every {advised:.0f} s (Young/Daly).",
    ]
    value = {**asdict(found), "goodput": found.share, "failures": failures, "interval_s": advised}
    emit(value, as_json=as_json, text="\n".join(lines))


def _store() -> Store:
    return open_store(settings.load().store)


def _line(info: CheckpointInfo) -> str:
    metrics = " ".join(f"{name}={value:g}" for name, value in info.metrics.items())
    return f"{info.step:>10}  {size(info.size):>10}  {info.created_at}  {info.ref}  {metrics}".rstrip()
