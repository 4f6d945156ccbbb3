"""``goldenpath step``: options made from a component's signature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from goldenpath.cli.main import app
from goldenpath.cli.step import parsed
from goldenpath.errors import ConfigError, NotFound
from goldenpath.steps import component


class Options(BaseModel):
    epochs: int = 1


@dataclass(frozen=True, kw_only=True)
class Made:
    ref: str


@component(name="toy.make")
def make(
    *,
    from_source: str,
    options: Options = Options(),  # noqa: B008
    datasets: dict[str, str] = {},  # noqa: B006
    force: bool = False,
    depth: int = 1,
) -> Made:
    """Makes a thing."""
    return Made(ref=f"{from_source}{options}{datasets}{force}{depth}")


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["--from-source", "./a"], {"from_source": "./a"}),
        (["--from-source=./a=b"], {"from_source": "./a=b"}),
        (["--from_source", "true"], {"from_source": "true"}),
        (["--options", '{"epochs": 3}'], {"options": {"epochs": 3}}),
        (["--options", "{epochs: 3}"], {"options": {"epochs": 3}}),
        (["--datasets", '{"train": "datasets/a:1"}'], {"datasets": {"train": "datasets/a:1"}}),
        (["--force", "--depth", "-2"], {"force": True, "depth": "-2"}),
        (["--force", "no"], {"force": False}),
    ],
)
def test_options_are_read_by_the_type_of_the_input(arguments: list[str], values: dict[str, Any]) -> None:
    assert parsed(make, arguments) == values


def test_a_configuration_can_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("epochs: 5\n")
    assert parsed(make, ["--options", f"@{file}"]) == {"options": {"epochs": 5}}
    with pytest.raises(NotFound, match=r"--options: there is no file .*missing\.yaml"):
        parsed(make, ["--options", f"@{tmp_path / 'missing.yaml'}"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--optoins", "{}"], "no option '--optoins'. Did you mean --options?"),
        (["--zzz", "1"], "Its options: --from-source, --options, --datasets, --force, --depth."),
        (["stray"], "no option 'stray'"),
        (["--depth"], "--depth needs a value"),
        (["--depth", "1", "--depth", "2"], "--depth is given twice"),
        (["--force", "maybe"], "--force is 'maybe'"),
        (["--options", "{epochs"], "--options is neither JSON nor YAML"),
    ],
)
def test_wrong_options_are_told(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(make, arguments)
    assert message in str(caught.value)


def test_a_component_runs_by_its_name() -> None:
    done = CliRunner().invoke(app, ["step", "run.finish", "--outcome", "promoted", "--json"])
    assert done.exit_code == 0
    assert done.stdout == '{\n  "outcome": "promoted"\n}\n'


def test_the_wrong_value_is_told_with_the_right_ones() -> None:
    done = CliRunner().invoke(app, ["step", "run.finish", "--outcome", "fine"])
    assert isinstance(done.exception, ConfigError)
    assert "'promoted'" in str(done.exception)


def test_help_shows_the_options_of_the_component() -> None:
    done = CliRunner().invoke(app, ["step", "run.finish", "--help"])
    assert done.exit_code == 0
    assert "same_as (str, default '')" in done.stdout
