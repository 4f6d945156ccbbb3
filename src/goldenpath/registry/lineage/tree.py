"""A trace as a tree for the terminal."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from goldenpath.registry.lineage.entries import Entry, Trace

_LABELS = {
    "code": "code",
    "data": "data",
    "image": "image",
    "config": "config",
    "checkpoints": "checkpoint",
    "evaluation": "evaluation",
    "rows": "rows",
    "gate": "gate",
    "report": "report",
    "rollout": "rollout",
    "run": "run",
    "queue": "queue",
    "cost": "cost",
}
_MARKS = {True: ("✓", "green"), False: ("✗", "bold red"), None: (" ", "")}


def render(trace: Trace, *, colour: bool, addresses: bool = False) -> str:
    """The tree as text. With ``addresses`` each entry's full URI stands below it."""
    tree = Tree(_title(trace), guide_style="dim")
    for name, entry in trace.entries():
        if name == "model":
            continue
        branch = tree.add(_line(_LABELS[name], entry))
        if addresses and entry.uri:
            branch.add(Text(entry.uri, style="dim"))
    if trace.also_by:
        tree.add(Text(f"also made by {', '.join(trace.also_by)}"))
    if trace.steps:
        steps = tree.add(Text("steps"))
        adopted = {step.run for step in trace.steps} - {_own_run(trace)}
        for step in trace.steps:
            origin = f"  adopted from {step.run}" if step.run in adopted else ""
            took = (step.finished_at - step.started_at).total_seconds()
            steps.add(Text(f"{step.step}  {step.component}  {took:.1f} s{origin}"))
    for came in trace.came_of:
        tree.add(Text(f"{came.run}  {came.outcome or 'no outcome'}  {came.model or 'no model'}"))
    out = io.StringIO()
    # One line an entry, however long: a cut address is no address.
    Console(file=out, force_terminal=colour, no_color=not colour, width=10_000, highlight=False).print(tree)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _title(trace: Trace) -> Text:
    if trace.model is None:
        return Text(f"{trace.kind} {trace.asked}", style="bold")
    held = f"  ({', '.join(trace.aliases)})" if trace.aliases else ""
    return _line("model", trace.model, style="bold").append(held, style="cyan")


def _line(label: str, entry: Entry, *, style: str = "") -> Text:
    mark, mark_style = _MARKS[entry.resolves]
    line = Text()
    line.append(f"{mark} ", style=mark_style).append(f"{label:11}", style="dim").append(
        entry.text, style=style
    )
    if entry.fault:
        line.append(f"  {entry.fault}", style="red")
    return line


def _own_run(trace: Trace) -> str:
    return str(trace.run.facts["run"]) if trace.run else ""
