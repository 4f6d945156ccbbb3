"""The ``@component`` decorator: a plain typed function becomes a step that can be killed and run again.

In order: the step's own result, if it has one; else the result of the same work by another run; else
the work itself. The last act is one create-only write of the result.
"""

from __future__ import annotations

import functools
import inspect
import time
import typing
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime
from typing import Any, Generic, ParamSpec, TypeVar, cast

from pydantic import TypeAdapter

from goldenpath import progress
from goldenpath.errors import ConfigError, GoldenPathError, Temporary
from goldenpath.provenance import ErrorRecord, StepRecord, check_step, identity_of, new_attempt, step_key
from goldenpath.steps.context import RunContext, StepContext, current_run, in_step, step_from_environment
from goldenpath.validation import validated

P = ParamSpec("P")
R = TypeVar("R")

_TRIES = 3
_FIRST_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a component."""

    name: str
    type: Any
    default: Any
    """``inspect.Parameter.empty`` where the input must be given."""

    @property
    def required(self) -> bool:
        """Whether a caller must give it."""
        return self.default is inspect.Parameter.empty


class Component(Generic[P, R]):
    """A function with its name, inputs and outputs; calling it runs it as a step of the current run."""

    def __init__(self, function: Callable[P, R], *, name: str, schema: int, reuse: bool) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.schema = schema
        self.reuse = reuse
        self.default_step = name.rpartition(".")[2].replace("_", "-")

    def __repr__(self) -> str:
        return f"<component {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the component as a step of its default name (or the engine's task's)."""
        return self._run(step_from_environment() or self.default_step, args, kwargs)

    def at(self, step: str) -> Callable[P, R]:
        """The component as a step of another name: ``evaluate.at("evaluate-champion")(…)``."""
        check_step(step)

        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            return self._run(step, args, kwargs)

        return run

    @functools.cached_property
    def inputs(self) -> dict[str, Input]:
        """The inputs in the order of the signature."""
        hints = typing.get_type_hints(self.function)
        return {
            name: Input(name, hints[name], parameter.default)
            for name, parameter in inspect.signature(self.function).parameters.items()
        }

    @functools.cached_property
    def result_type(self) -> type[R]:
        """The frozen dataclass that the function returns."""
        found = typing.get_type_hints(self.function)["return"]
        if not is_dataclass(found):
            raise GoldenPathError(f"The component {self.name} returns {found!r}, not a dataclass.")
        return cast("type[R]", found)

    @functools.cached_property
    def outputs(self) -> dict[str, Any]:
        """The outputs' types by name."""
        return typing.get_type_hints(self.result_type)

    def _run(self, step: str, positional: tuple[Any, ...], given: dict[str, Any]) -> R:
        if positional:
            raise TypeError(f"{self.name} takes keyword arguments only, not {positional[0]!r}.")
        context = current_run()
        values = self._validate(given)
        inputs = {
            name: TypeAdapter(self.inputs[name].type).dump_python(value, mode="json")
            for name, value in values.items()
        }
        journal = context.journal
        context = context.as_recorded(context.begin())
        done = journal.result(context.run, step)
        if done is not None:
            if done.component != self.name or done.inputs != inputs:
                raise ConfigError(
                    f"The step {step!r} of run {context.run} was done already by {done.component} with other "
                    f"inputs ({_difference(done.inputs, inputs)}).",
                    next_step=f"Give each use its own name: {self.default_step}.at('another-name')(…).",
                )
            progress.note(f"{step}: done already in this run")
            return self._result(done)
        key = self._key(context, values)
        attempt = new_attempt()
        started = datetime.now(UTC)
        earlier = journal.find(key) if self.reuse and context.reuse else None
        if earlier is not None:
            progress.note(
                f"{step}: adopted from run {earlier.run}, same inputs, code, configuration and image"
            )
            outputs, origin = earlier.outputs, earlier.reused_from or earlier.run
        else:
            journal.start_step(context.run, step, attempt)
            place = StepContext(run=context, step=step, attempt=attempt, key=key)
            outputs, origin = self._work(place, values), ""
        record = StepRecord(
            run=context.run,
            step=step,
            component=self.name,
            key=key,
            attempt=attempt,
            inputs=inputs,
            outputs=outputs,
            started_at=started,
            finished_at=datetime.now(UTC),
            reused_from=origin,
        )
        return self._result(journal.commit_step(record, reusable=self.reuse and not origin))

    def _work(self, place: StepContext, values: dict[str, Any]) -> dict[str, Any]:
        """Calls the function; temporary faults are tried again here, for engines cannot tell them."""
        wait = _FIRST_WAIT_S
        for remaining in reversed(range(_TRIES)):
            try:
                with in_step(place):
                    result = self.function(**values)  # type: ignore[call-arg]
            except Temporary as error:
                if not remaining:
                    self._keep_failure(place, error)
                    raise
                progress.note(f"{place.step}: {error} Next try in {wait:.0f} s.")
                time.sleep(wait)
                wait *= 3
            except GoldenPathError as error:
                self._keep_failure(place, error)
                raise
            else:
                dumped = TypeAdapter(self.result_type).dump_python(result, mode="json")
                return cast("dict[str, Any]", dumped)
        raise AssertionError("unreachable: the last try returns or raises")

    def _keep_failure(self, place: StepContext, error: GoldenPathError) -> None:
        record = ErrorRecord(code=error.exit_code, type=type(error).__name__, message=str(error))
        try:
            place.run.journal.fail_step(place.run.run, place.step, place.attempt, record)
        except GoldenPathError as second:
            # The store may be what failed: the first error is the one to see.
            progress.note(f"{place.step}: the failure could not be recorded: {second}")

    def _validate(self, given: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(given.keys() - self.inputs.keys())
        if unknown:
            raise ConfigError(
                f"{self.name} has no input {unknown[0]!r}.",
                next_step=f"Its inputs: {', '.join(self.inputs)}.",
            )
        missing = [name for name, spec in self.inputs.items() if spec.required and name not in given]
        if missing:
            raise ConfigError(f"{self.name} needs {', '.join(missing)}.")
        return {
            name: validated(spec.type, given[name], where=f"{self.name}, input {name}")
            if name in given
            else spec.default
            for name, spec in self.inputs.items()
        }

    def _key(self, context: RunContext, values: dict[str, Any]) -> str:
        return step_key(
            component=self.name,
            schema=self.schema,
            inputs=identity_of(values),
            # A source snapshot among the inputs is the code: the rest of the repository does not matter.
            code="" if values.get("source") else context.code.digest,
            image=context.image,
        )

    def _result(self, record: StepRecord) -> R:
        return TypeAdapter(self.result_type).validate_python(record.outputs)


def component(
    *, name: str, schema: int = 1, reuse: bool = False
) -> Callable[[Callable[P, R]], Component[P, R]]:
    """Makes a function a component.

    Args:
        name: ``family.name``, as in ``CATALOGUE``.
        schema: Raised when the outputs change, so that older results are not adopted.
        reuse: Whether the same work by another run is adopted: only where the function's result
            depends on its inputs alone and nothing outside is changed.
    """

    def wrap(function: Callable[P, R]) -> Component[P, R]:
        return Component(function, name=name, schema=schema, reuse=reuse)

    return wrap


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return ", ".join(names) or "another component"
