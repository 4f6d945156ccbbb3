"""``goldenpath serve``: services and their rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from goldenpath import settings as settings_module
from goldenpath.cli.output import JsonFlag, emit
from goldenpath.cli.progress import shown
from goldenpath.errors import ConfigError
from goldenpath.serving import PromotionPlan, PromotionResult
from goldenpath.serving.services import RolloutSummary, ServiceStatus, history, status, stop
from goldenpath.store import open_store
from goldenpath.validation import validated

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Services and their rollouts.")

ServiceName = Annotated[str, typer.Argument(help="The service's name.")]
_EXIT = {"promoted": 0, "rolled_back": 4, "paused": 3}


@app.command("status")
def status_(
    service: Annotated[str, typer.Argument(help="The service; all of this project by default.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """What serves on this machine, with which share, and how its last rollout stands."""
    found = settings_module.load()
    rows = status(service, store=open_store(found.store), state_dir=found.state_dir)
    text = "\n".join(_told(row) for row in rows) or "No service runs on this machine."
    emit(rows, as_json=as_json, text=text)


@app.command("history")
def history_(service: ServiceName, as_json: JsonFlag = False) -> None:
    """Every rollout of a service, the newest first."""
    rows = history(service, store=open_store(settings_module.load().store))
    emit(rows, as_json=as_json, text="\n".join(_line(row) for row in rows))


@app.command()
def promote(
    model: Annotated[str, typer.Argument(help="The registered model, such as models/digits:3.")],
    service: ServiceName,
    plan: Annotated[Path | None, typer.Option(help="A YAML file with the plan; its defaults else.")] = None,
    expected_champion: Annotated[
        str, typer.Option(help="The champion that the model was judged against; empty for none.")
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """Brings a registered model into service, judged step by step."""
    from goldenpath.components.serving.promote import promote as component

    read = validated(PromotionPlan, _yaml(plan) if plan else {}, where=str(plan or "the plan"))
    with shown():
        result = component(model=model, service=service, plan=read, expected_champion=expected_champion)
    emit(result, as_json=as_json, text=_ended(result))
    raise typer.Exit(_EXIT[result.outcome])


@app.command()
def rollback(
    service: ServiceName,
    reason: Annotated[str, typer.Option(help="Why; it is kept in the record.")],
    as_json: JsonFlag = False,
) -> None:
    """Takes back a rollout under way, else the last promotion."""
    from goldenpath.components.serving.rollback import rollback as component

    with shown():
        result = component(service=service, reason=reason)
    emit(result, as_json=as_json, text=_ended(result))
    # What was asked for is done; only a champion that could not be brought back is a failure.
    raise typer.Exit(0 if result.outcome == "rolled_back" else 1)


@app.command("stop")
def stop_(service: ServiceName, as_json: JsonFlag = False) -> None:
    """Ends a local service with all its processes; aliases and records stay."""
    stop(service, state_dir=settings_module.load().state_dir)
    emit({"service": service, "stopped": True}, as_json=as_json, text=f"{service} is stopped.")


def _yaml(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None


def _ended(result: PromotionResult) -> str:
    return (
        f"{result.outcome}: {result.reason}\n"
        f"  serving   {result.champion or '-'}\n  rollout   {result.rollout}\n  endpoint  {result.url or '-'}"
    )


def _told(row: ServiceStatus) -> str:
    local = row.local
    lines = [f"{local.service}  {local.url or '-'}  {'up' if local.proxy_alive else 'down'}"]
    for server in local.servers:
        health = "ready" if server.ready else "not ready" if server.alive else "dead"
        lines.append(f"  {server.percent:6.2f}%  {health:9}  {server.model}")
    if local.promoter:
        lines.append(f"  being promoted by {local.promoter}")
    if row.rollout is not None:
        lines.append(f"  last rollout {_line(row.rollout)}")
    if row.abandoned:
        lines.append(
            f"  its promoter died: run the path again to go on, or "
            f"'goldenpath serve rollback {local.service} --reason …'"
        )
    return "\n".join(lines)


def _line(row: RolloutSummary) -> str:
    return f"{row.number}  {row.opened_at:%Y-%m-%d %H:%M}  {row.outcome:11}  {row.model}  {row.reason}"
