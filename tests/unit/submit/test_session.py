"""Runs of a toy path: found, resumed, locked, concluded."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from goldenpath import settings
from goldenpath.components.data.snapshot import snapshot
from goldenpath.components.run.finish import finish
from goldenpath.errors import ConfigError, NotFound, Temporary, UserProgramFailed
from goldenpath.journal import Journal
from goldenpath.pipelines import PATHS
from goldenpath.provenance import Outcome, digest_of
from goldenpath.steps import component
from goldenpath.store import open_store
from goldenpath.submit import LoadedPath, PathResult, load_path, run_path
from goldenpath.submit.session import _locked


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    depth: int = 1


class Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    path: str
    source: str = "data"
    part: Part = Part()

    def digest(self) -> str:
        return digest_of(self.model_dump())

    def resolved(self, file: Path) -> Config:
        return self.model_copy(update={"source": str(file.parent / self.source)})


@dataclass(frozen=True, kw_only=True)
class Worked:
    depth: int


class World:
    """What the toy's work did, and the fault that it meets next."""

    def __init__(self) -> None:
        self.worked = 0
        self.fault: BaseException | None = None


world = World()


@component(name="toy.work")
def work(*, data: str, depth: int) -> Worked:
    """Does the toy's work."""
    assert data
    if world.fault is not None:
        fault, world.fault = world.fault, None
        raise fault
    world.worked += 1
    return Worked(depth=depth)


def run(config: Config, *, if_changed: bool = True) -> Outcome:
    """The toy's recipe."""
    assert if_changed in (True, False)
    taken = snapshot(source=config.source, name="toy")
    work(data=taken.ref, depth=config.part.depth)
    return Outcome(finish(outcome=Outcome.REGISTERED).outcome)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy path, and a project with its file and its data."""
    world.worked, world.fault = 0, None
    for name, members in (("config", {"Config": Config}), ("recipe", {"run": run})):
        module = ModuleType(f"toy_path.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, f"toy_path.{name}", module)
    monkeypatch.setitem(sys.modules, "toy_path", ModuleType("toy_path"))
    monkeypatch.setitem(PATHS, "toy", "toy_path")
    Path("data").mkdir()
    Path("data/rows.txt").write_text("one")
    file = Path("toy.yaml")
    file.write_text("path: toy\n")
    return file


def toy_run(*overrides: str, force: bool = False) -> PathResult:
    loaded = load_path("toy", Path("toy.yaml"), overrides=overrides)
    return run_path(loaded, settings=settings.load(), force=force)


def journal() -> Journal:
    return Journal(open_store(settings.load().store))


def test_a_run_is_recorded_with_its_configuration_and_its_end() -> None:
    result = toy_run("part.depth=3")
    assert result.outcome is Outcome.REGISTERED
    assert result.exit_code == 0
    record = journal().run(result.run)
    assert record is not None
    assert (record.path, record.engine) == ("toy", "local")
    assert [step.component for step in journal().steps(result.run)] == [
        "data.snapshot",
        "toy.work",
        "run.finish",
    ]


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), RuntimeError("killed"), SystemExit(1)])
def test_a_stopped_run_goes_on_where_it_was(fault: BaseException) -> None:
    world.fault = fault
    with pytest.raises(type(fault)):
        toy_run()
    result = toy_run()
    taken = journal().result(result.run, "snapshot")
    assert world.worked == 1
    assert taken is not None
    assert len(list(Path(".goldenpath/store/runs").iterdir())) == 1


def test_a_finished_run_is_not_gone_on_with() -> None:
    assert toy_run().run != toy_run().run


def test_a_stopped_run_of_changed_data_is_given_up() -> None:
    world.fault = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        toy_run()
    (stopped,) = (path.name for path in Path(".goldenpath/store/runs").iterdir())
    Path("data/rows.txt").write_text("another")
    result = toy_run()
    given_up = journal().outcome(stopped)
    assert result.run != stopped
    assert given_up is not None
    assert given_up.outcome is Outcome.CANCELLED
    assert "changed" in given_up.reason


def test_another_configuration_is_another_run() -> None:
    world.fault = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        toy_run()
    toy_run("part.depth=2")
    assert len(list(Path(".goldenpath/store/runs").iterdir())) == 2


def test_a_failed_step_fails_the_run_with_its_reason() -> None:
    world.fault = UserProgramFailed("exit code 3")
    with pytest.raises(UserProgramFailed):
        toy_run()
    (run_name,) = (path.name for path in Path(".goldenpath/store/runs").iterdir())
    end = journal().outcome(run_name)
    assert end is not None
    assert (end.outcome, end.reason) == (Outcome.FAILED, "exit code 3")
    assert toy_run().run != run_name


def test_a_temporary_fault_leaves_the_run_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldenpath.steps.decorator._TRIES", 1)
    world.fault = Temporary("the server is away")
    with pytest.raises(Temporary):
        toy_run()
    toy_run()
    assert len(list(Path(".goldenpath/store/runs").iterdir())) == 1


def test_the_same_run_in_two_processes_is_told() -> None:
    world.fault = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        toy_run()
    (run_name,) = (path.name for path in Path(".goldenpath/runs").iterdir())
    with _locked(Path(".goldenpath/runs") / run_name), pytest.raises(Temporary, match="in progress"):
        toy_run()


@pytest.mark.parametrize(
    ("content", "overrides", "message"),
    [
        (
            "path: toy\npart: {dept: 1}",
            (),
            "toy.yaml: the key 'part.dept' is unknown (did you mean 'depth'?)",
        ),
        ("path: toy\npart: {depth: deep}", (), "'part.depth' is 'deep'"),
        ("path: other", (), "written for the path 'other'"),
        ("- a", (), "holds list"),
        ("a: [", (), "no valid YAML"),
        ("path: toy\nsource: a\nsource: b", (), "line 3: the key 'source' is there twice"),
        ("path: toy", ("part",), "is not key=value"),
        ("path: toy", ("source.x=1",), "'source' is 'data'"),
        ("path: toy\nsource: data", ("source=[",), "no valid YAML"),
        ("path: toy", ("prt.depth=1",), "did you mean 'part'?"),
    ],
)
def test_a_wrong_file_or_override_is_told(content: str, overrides: tuple[str, ...], message: str) -> None:
    Path("toy.yaml").write_text(content)
    if overrides == ("source.x=1",):
        Path("toy.yaml").write_text(f"{content}\nsource: data")
    with pytest.raises(ConfigError) as caught:
        load_path("toy", Path("toy.yaml"), overrides=overrides)
    assert message in str(caught.value)


def test_an_unknown_path_and_a_missing_file_are_told() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'train-to-serve'"):
        load_path("train-to-server", Path("toy.yaml"))
    with pytest.raises(NotFound, match=r"no file no\.yaml"):
        load_path("toy", Path("no.yaml"))


def test_overrides_make_the_sections_that_they_need() -> None:
    loaded: LoadedPath = load_path("toy", Path("toy.yaml"), overrides=["part.depth=4"])
    config: Any = loaded.config
    assert config.part.depth == 4
