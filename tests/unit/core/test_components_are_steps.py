"""The decorator: records, reuse, retry and the mapping of errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from goldenpath import settings
from goldenpath.errors import ConfigError, Temporary, UserProgramFailed
from goldenpath.steps import CATALOGUE, RunContext, component, current_step, find, in_run
from goldenpath.store import keys


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    depth: int = 1


@dataclass(frozen=True, kw_only=True)
class Made:
    ref: str
    depth: int


class World:
    """Counts what the toy component really did, and makes it fail on demand."""

    def __init__(self) -> None:
        self.calls = 0
        self.faults: list[Exception] = []


world = World()


@component(name="toy.make", reuse=True)
def make(*, source: str, options: Options = Options()) -> Made:  # noqa: B008
    """Makes a thing."""
    world.calls += 1
    if world.faults:
        raise world.faults.pop(0)
    return Made(ref=f"{source}@{current_step().step}", depth=options.depth)


@pytest.fixture(autouse=True)
def _fresh_world(monkeypatch: pytest.MonkeyPatch) -> None:
    world.calls = 0
    world.faults = []
    monkeypatch.setattr("goldenpath.steps.decorator._FIRST_WAIT_S", 0.0)


@pytest.fixture
def context(tmp_path: Path) -> RunContext:
    environ = {"GOLDENPATH_STORE": (tmp_path / "store").as_uri()}
    return RunContext(run="run-1", settings=settings.load(start=tmp_path, environ=environ), image="sha256:i")


def test_a_finished_step_is_not_run_again(context: RunContext) -> None:
    with in_run(context):
        first = make(source="a", options=Options(depth=2))
        again = make(source="a", options=Options(depth=2))
    assert first == again == Made(ref="a@make", depth=2)
    assert world.calls == 1


def test_another_run_adopts_the_same_work_and_says_from_where(context: RunContext) -> None:
    with in_run(context):
        first = make(source="a")
    later = replace(context, run="run-2")
    with in_run(later):
        assert make.at("make-it")(source="a") == first
    with in_run(replace(context, run="run-3")):
        make(source="a")
    assert world.calls == 1
    adopted = later.journal.result("run-2", "make-it")
    assert adopted is not None
    assert adopted.reused_from == "run-1"


@pytest.mark.parametrize("change", [{"image": "sha256:j"}, {"reuse": False}])
def test_another_image_or_force_does_the_work_anew(context: RunContext, change: dict[str, object]) -> None:
    with in_run(context):
        make(source="a")
    with in_run(replace(context, run="run-2", **change)):  # type: ignore[arg-type]
        make(source="a")
    assert world.calls == 2


def test_a_changed_configuration_elsewhere_costs_no_work(context: RunContext) -> None:
    with in_run(context):
        make(source="a")
    with in_run(replace(context, run="run-2", config_digest="another gate")):
        make(source="a")
    assert world.calls == 1


def test_one_step_name_cannot_stand_for_two_uses(context: RunContext) -> None:
    with in_run(context):
        make(source="a")
        with pytest.raises(ConfigError, match=r"other inputs \(source\).*make\.at"):
            make(source="b")


def test_temporary_faults_are_tried_again_inside_the_step(context: RunContext) -> None:
    world.faults = [Temporary("busy"), Temporary("busy")]
    with in_run(context):
        assert make(source="a").depth == 1
    assert world.calls == 3


def test_a_lasting_fault_is_recorded_and_the_next_attempt_may_succeed(context: RunContext) -> None:
    world.faults = [UserProgramFailed("exit 3")]
    with in_run(context):
        with pytest.raises(UserProgramFailed):
            make(source="a")
        kept = [e.key for e in context.store.list(keys.step_folder("run-1", "make"))]
        assert len([key for key in kept if "/failed-" in key]) == 1
        assert make(source="a").depth == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": "a", "optoins": {}}, "no input 'optoins'"),
        ({}, "needs source"),
        ({"source": "a", "options": {"dept": 1}}, "did you mean 'depth'?"),
        ({"source": "a", "options": {"depth": "deep"}}, "'depth' is 'deep'"),
    ],
)
def test_wrong_inputs_are_told_before_any_work(
    context: RunContext, given: dict[str, object], message: str
) -> None:
    with in_run(context), pytest.raises(ConfigError) as caught:
        make(**given)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert world.calls == 0


def test_a_run_reaches_another_process_by_its_environment(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = replace(context, path="train-to-serve", engine="kfp", config_digest="c", reuse=False)
    for name, value in given.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GOLDENPATH_STEP", "make-elsewhere")
    make(source="a")
    record = context.journal.run("run-1")
    assert record is not None
    assert (record.engine, record.path, record.config_digest) == ("kfp", "train-to-serve", "c")
    assert context.journal.result("run-1", "make-elsewhere") is not None


def test_components_take_keywords_only(context: RunContext) -> None:
    with in_run(context), pytest.raises(TypeError, match="keyword arguments only"):
        make("a")  # type: ignore[call-arg]


def test_every_component_of_the_catalogue_is_found() -> None:
    for name in CATALOGUE:
        assert find(name).name == name
