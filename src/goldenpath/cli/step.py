"""``goldenpath step``: one component by its name, its options made from its signature."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from goldenpath.cli.components import details
from goldenpath.cli.output import JsonFlag, emit, jsonable
from goldenpath.cli.progress import shown
from goldenpath.errors import ConfigError, NotFound
from goldenpath.steps import Component, find
from goldenpath.steps.task import WireType, wire_type

app = typer.Typer(add_completion=False)

_TRUE = ("true", "yes", "1")
_FALSE = ("false", "no", "0")


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": True,
        "help_option_names": [],
    }
)
def step(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The component, such as data.snapshot.")] = "",
    show_help: Annotated[bool, typer.Option("--help", help="Show the component's options.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Runs one component: goldenpath step data.snapshot --source ./images --name digits.

    Each input of the component is an option. Configurations are JSON or YAML text, or @FILE.
    """
    if not name:
        typer.echo(context.get_help())
        return
    component = find(name)
    if show_help:
        typer.echo(details(component))
        return
    values = parsed(component, context.args)
    with shown():
        result = component(**values)
    rows = jsonable(result)
    emit(result, as_json=as_json, text="\n".join(f"{key}: {_shown(value)}" for key, value in rows.items()))


def parsed(component: Component[..., Any], arguments: Sequence[str]) -> dict[str, Any]:
    """The inputs of a component from ``--name value`` and ``--name=value``.

    Raises:
        ConfigError: An option is unknown, lacks its value, is given twice, or is not of its type.
        NotFound: The file of an ``@FILE`` value is not there.
    """
    found: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        flag, equals, text = option.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not flag.startswith("--") or name not in component.inputs:
            raise _unknown(component, flag)
        wire = wire_type(component.inputs[name].type)
        if not equals:
            if rest and not rest[0].startswith("--"):
                text = rest.pop(0)
            elif wire.name == "bool":
                text = "true"
            else:
                raise ConfigError(f"{flag} needs a value.")
        if name in found:
            raise ConfigError(f"{flag} is given twice.")
        found[name] = _value(flag, text, wire)
    return found


def _unknown(component: Component[..., Any], flag: str) -> ConfigError:
    options = ["--" + name.replace("_", "-") for name in component.inputs]
    near = difflib.get_close_matches(flag, options, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Its options: {', '.join(options)}."
    return ConfigError(f"{component.name} has no option {flag!r}.", next_step=hint)


def _value(flag: str, text: str, wire: WireType) -> Any:
    if wire.name == "str":
        return text
    if wire.name == "bool":
        if text.lower() not in (*_TRUE, *_FALSE):
            raise ConfigError(f"{flag} is {text!r}.", next_step="It is true or false.")
        return text.lower() in _TRUE
    if wire.name in ("int", "float"):
        # The component's own validation tells what a wrong number should have been.
        return text
    return _document(flag, text)


def _document(flag: str, text: str) -> Any:
    where = flag
    if text.startswith("@"):
        file = Path(text[1:])
        where = f"{flag} {file}"
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise NotFound(f"{flag}: there is no file {file}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{flag}: {file} cannot be read: {error}.") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where} is neither JSON nor YAML: {' '.join(str(error).split())}.") from None


def _shown(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else yaml.safe_dump(value, default_flow_style=True, width=10**6).removesuffix("\n...\n").strip()
    )
