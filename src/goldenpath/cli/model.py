"""``goldenpath model``: registered models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from goldenpath import refs, registry, settings
from goldenpath.cli.output import JsonFlag, emit, size
from goldenpath.cli.progress import shown
from goldenpath.errors import ConfigError, NotFound
from goldenpath.registry import AliasEpoch, Version
from goldenpath.store import Store, open_store

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Registered models.")

RefArgument = Annotated[
    str, typer.Argument(metavar="REF", help="models:/NAME@ALIAS, NAME:3 or a full reference.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The model's name.")]


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One model of a list."""

    name: str
    versions: int
    newest: str
    champion: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One model with its versions, its aliases, and how those moved."""

    name: str
    versions: tuple[Version, ...]
    aliases: dict[str, str]
    history: tuple[AliasEpoch, ...]


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A model's files in a folder."""

    model: str
    folder: str
    files: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A signed model."""

    model: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class Mirrored:
    """What MLflow has of a model now."""

    name: str
    versions: int
    aliases: dict[str, str]


def _store() -> Store:
    return open_store(settings.load().store)


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """Lists the registered models with their champions."""
    store = _store()
    found = []
    for name in registry.names(store=store):
        numbers = registry.numbers(name, store=store)
        champion = registry.aliases(name, store=store).of(registry.CHAMPION)
        newest = registry.version(name, numbers[-1], store=store).ref(store.url)
        found.append(Listed(name=name, versions=len(numbers), newest=newest, champion=champion))
    text = "\n".join(f"{one.name}  {one.versions} versions, champion {_short(one.champion)}" for one in found)
    emit(found, as_json=as_json, text=text or "No models yet.")


@app.command()
def show(name: NameArgument, as_json: JsonFlag = False) -> None:
    """Shows a model's versions with their verdicts, and its aliases."""
    store = _store()
    found = Shown(
        name=name,
        versions=tuple(registry.versions(name, store=store)),
        aliases=dict(registry.aliases(name, store=store).refs),
        history=tuple(registry.alias_history(name, store=store)),
    )
    if not found.versions:
        raise NotFound(
            f"No model {name!r} is registered in {store.url}.", next_step="See `goldenpath model list`."
        )
    emit(found, as_json=as_json, text=_shown(found, store))


@app.command()
def sign(
    ref: RefArgument,
    key: Annotated[
        Path | None, typer.Option(help="The file of the private key; by default GOLDENPATH_SIGNING_KEY.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Signs a published model (OpenSSF model signing); the signature lies beside its files."""
    where = settings.load()
    store = open_store(where.store)
    if key is None and not where.signing_key:
        raise ConfigError(
            "There is no key to sign with.", next_step="Give --key, or set GOLDENPATH_SIGNING_KEY."
        )
    model = _ref(ref, store)
    signature = registry.sign(model, store=store, key=key or Path(where.signing_key))
    done = Signed(model=str(registry.resolve(model, store=store)), signature=signature)
    emit(done, as_json=as_json, text=done.signature)


@app.command()
def verify(
    ref: RefArgument,
    key: Annotated[
        Path | None,
        typer.Option(
            help="A public key (PEM) that the model must be signed by; by default GOLDENPATH_TRUSTED_KEY."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Reads a model's stored files again, and compares each with its digest."""
    where = settings.load()
    trusted = key or (Path(where.trusted_key) if where.trusted_key else None)
    store = open_store(where.store)
    with shown():
        manifest = registry.verify(_ref(ref, store), store=store, trusted_key=trusted)
    text = (
        f"{manifest.name}@sha256:{manifest.digest}: {len(manifest.files)} files, {size(manifest.size)}, whole"
    )
    emit(manifest, as_json=as_json, text=text)


@app.command()
def fetch(
    ref: RefArgument,
    dest: Annotated[Path, typer.Argument(help="A folder that is new or empty.")],
    as_json: JsonFlag = False,
) -> None:
    """Brings a model's files into a folder: all of them, verified, or none."""
    store = _store()
    model = _ref(ref, store)
    with shown():
        folder = registry.fetch(model, dest, store=store)
    manifest = registry.read_manifest(model, store=store)
    done = Fetched(
        model=str(registry.resolve(model, store=store)),
        folder=str(folder),
        files=len(manifest.files),
        bytes=manifest.size,
    )
    emit(done, as_json=as_json, text=f"{folder}: {done.files} files, {size(done.bytes)}\n  {done.model}")


@app.command()
def mirror(name: NameArgument, as_json: JsonFlag = False) -> None:
    """Makes MLflow's versions and aliases of a model again from the store: after MLflow lost them."""
    place = settings.load()
    store = open_store(place.store)
    with shown():
        versions = registry.mirror_versions(name, store=store, tracking=place.tracking)
        held = registry.mirror_aliases(name, store=store, tracking=place.tracking)
    done = Mirrored(name=name, versions=versions, aliases=dict(held.refs))
    emit(done, as_json=as_json, text=f"{place.tracking}: {versions} versions, {len(held.refs)} aliases")


def _ref(text: str, store: Store) -> str:
    """A model's reference: ``models:/name@champion`` is looked up, a bare ``name:3`` completed."""
    if text.startswith("models:/"):
        return registry.from_tracked(text, store=store)
    return text if "/" in text else f"models/{text}"


def _short(ref: str) -> str:
    return refs.parse(ref).short if ref else "none"


def _shown(found: Shown, store: Store) -> str:
    holders: dict[str, list[str]] = {}
    for alias, ref in found.aliases.items():
        holders.setdefault(ref, []).append(alias)
    lines = [found.name]
    for version in found.versions:
        held = holders.get(version.ref(store.url), [])
        mark = f"  ({', '.join(held)})" if held else ""
        told = f"overridden: {version.override}" if version.override else version.verdict
        lines.append(
            f"  {version.number:>4}  sha256:{version.digest[:12]}  {version.registered_at:%Y-%m-%d %H:%M}  "
            f"run {version.run}  {told}{mark}"
        )
    return "\n".join(lines)
