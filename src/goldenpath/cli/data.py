"""``goldenpath data``: dataset versions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from goldenpath import data, settings
from goldenpath.cli.output import JsonFlag, emit, size
from goldenpath.cli.progress import shown
from goldenpath.data import SnapshotOptions
from goldenpath.errors import DataDamaged
from goldenpath.store import Store, open_store
from goldenpath.validation import validated

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Dataset versions.")

RefArgument = Annotated[str, typer.Argument(metavar="REF", help="NAME, NAME:3 or a full reference.")]


def _store() -> Store:
    return open_store(settings.load().store)


@app.command()
def snapshot(
    source: Annotated[str, typer.Argument(help="A folder, a file or the URL of an object prefix.")],
    name: Annotated[str, typer.Argument(help="The dataset's name.")],
    exclude: Annotated[
        list[str] | None, typer.Option(help="A pattern to leave out: '*.tmp', 'raw/*.csv'.")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="data takes everything; code leaves out caches and what Git ignores.")
    ] = "data",
    as_json: JsonFlag = False,
) -> None:
    """Takes an immutable version; the same content is the same version."""
    from goldenpath.components.data.snapshot import snapshot as component

    options = validated(SnapshotOptions, {"exclude": exclude or (), "preset": preset}, where="options")
    with shown():
        taken = component(source=source, name=name, options=options)
    word = "" if taken.changed else "Unchanged: "
    emit(taken, as_json=as_json, text=f"{word}{taken.ref}\n  {taken.files} files, {size(taken.bytes)}")


@app.command()
def restore(
    ref: RefArgument,
    dest: Annotated[Path, typer.Argument(help="A folder that is new or empty.")],
    path: Annotated[
        list[str] | None, typer.Option(help="Only this file or folder of the version; repeatable.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over files of the same names.")
    ] = False,
    sync: Annotated[
        bool, typer.Option("--sync", help="Make the folder the version: remove what it does not have.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Restores a version to a folder, every byte verified before it is visible."""
    with shown():
        done = data.restore(ref, dest, store=_store(), overwrite=overwrite, sync=sync, paths=path or ())
    kept = f", {done.kept} kept, {done.removed} removed" if sync else ""
    emit(done, as_json=as_json, text=f"{dest}: {done.files} files, {size(done.bytes)}{kept}\n  {done.ref}")


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """Lists the datasets with their newest versions."""
    store = _store()
    found = [data.find(name, store=store)[0] for name in data.names(store=store)]
    text = "\n".join(
        f"{version.name}:{version.number}  {version.files} files, {size(version.bytes)}, "
        f"{version.created_at:%Y-%m-%d %H:%M}"
        for version in found
    )
    emit(found, as_json=as_json, text=text or "No datasets yet.")


@app.command()
def show(
    ref: RefArgument,
    files: Annotated[bool, typer.Option("--files", help="List every file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Shows one version: its counts, where it comes from, its tags and, if asked, its files."""
    version, stored = data.open_version(ref, store=_store())
    full = str(version.ref(stored.store))
    named = [tag.tag for tag in data.tags(version.name, store=stored.store) if tag.ref == full]
    rows = [row.path for row in stored.rows()] if files else []
    lines = [full, f"  {version.files} files, {size(version.bytes)}", *_lineage(version, named)]
    shown_value = {"ref": full, **version.model_dump(mode="json", by_alias=True), "tags": named}
    if files:
        shown_value["paths"] = rows
    emit(shown_value, as_json=as_json, text="\n".join([*lines, *rows]))


@app.command()
def diff(
    old: Annotated[str, typer.Argument(help="The earlier version.")],
    new: Annotated[str, typer.Argument(help="The later version.")],
    as_json: JsonFlag = False,
) -> None:
    """Counts what differs between two versions and names the first of each kind."""
    found = data.diff(old, new, store=_store())
    head = f"{found.added} added, {found.removed} removed, {found.changed} changed, {size(found.bytes)}"
    emit(found, as_json=as_json, text="\n".join(["Identical." if found.identical else head, *found.names]))


@app.command()
def verify(
    ref: RefArgument,
    deep: Annotated[bool, typer.Option("--deep", help="Read every byte and compare the digests.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Looks for damage, and tells which files of which versions it touches. Exit 6 if there is any."""
    with shown():
        found = data.verify(ref, store=_store(), deep=deep)
    lines = [f"{found.ref}: {found.objects} objects, {size(found.bytes)} read"]
    for damage in found.damaged:
        lines += [f"{damage.object}: {damage.fault}", *(f"  {name}" for name in damage.files)]
    emit(found, as_json=as_json, text="\n".join([*lines, "Sound." if found.ok else "Damaged."]))
    raise typer.Exit(0 if found.ok else DataDamaged.exit_code)


@app.command()
def gc(
    delete: Annotated[bool, typer.Option("--delete", help="Delete; without it, only tell.")] = False,
    grace_days: Annotated[float, typer.Option(help="Leave alone what is younger.")] = data.GRACE.days,
    as_json: JsonFlag = False,
) -> None:
    """Finds what no record refers to, such as what killed snapshots left, and deletes it if asked."""
    with shown():
        found = data.gc(store=_store(), delete=delete, grace=timedelta(days=grace_days))
    word = "deleted" if found.deleted else "to delete (a dry run: --delete deletes)"
    emit(
        found,
        as_json=as_json,
        text=f"{found.objects} objects, {size(found.bytes)} {word}; {found.young} are too young to tell.",
    )


@app.command()
def log(
    name: Annotated[str, typer.Argument(help="The dataset's name.")],
    as_json: JsonFlag = False,
) -> None:
    """Lists the versions of a dataset, the newest first, with where each comes from."""
    store = _store()
    versions = data.history(name, store=store)
    named = data.tags(name, store=store)
    lines: list[str] = []
    for version in versions:
        own = [tag.tag for tag in named if tag.ref == str(version.ref(store))]
        lines += [
            f"{version.name}:{version.number}@sha256:{version.digest[:12]}…  "
            f"{version.files} files, {size(version.bytes)}",
            *_lineage(version, own),
        ]
    emit(versions, as_json=as_json, text="\n".join(lines))


@app.command()
def tag(
    ref: RefArgument,
    name: Annotated[str, typer.Argument(metavar="TAG", help="The name; it never moves.")],
    as_json: JsonFlag = False,
) -> None:
    """Gives a version a name for ever."""
    made = data.tag(ref, name, store=_store())
    emit(made, as_json=as_json, text=f"{made.tag}: {made.ref}")


def _lineage(version: data.Version, tags: list[str]) -> list[str]:
    rows = {
        "taken": f"{version.created_at:%Y-%m-%d %H:%M:%S} UTC from {version.source}",
        "run": f"{version.run}, step {version.step}" if version.run else "",
        "code": f"{version.code.commit[:12]}{' with changes' if version.code.dirty else ''}",
        "parent": ", ".join(version.parents),
        "inputs": ", ".join(version.inputs),
        "tags": ", ".join(tags),
    }
    return [f"  {label:11}{value}" for label, value in rows.items() if value]
