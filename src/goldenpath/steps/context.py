"""Where a step runs: its run, and its place in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from goldenpath import settings as settings_module
from goldenpath.errors import GoldenPathError
from goldenpath.jobs import Place
from goldenpath.journal import Journal
from goldenpath.provenance import (
    Code,
    RunRecord,
    check_run,
    check_step,
    digest_of,
    image_identity,
    new_run,
    python_environment,
)
from goldenpath.settings import Settings
from goldenpath.store import Store, keys, open_store, put_document

STEP_VARIABLE = "GOLDENPATH_STEP"
_PREFIX = "GOLDENPATH_RUN_"


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """One run of a path, as each of its steps sees it."""

    run: str
    settings: Settings
    path: str = ""
    engine: str = "python"
    external_id: str = ""
    url: str = ""
    code: Code = field(default_factory=Code)
    image: str = ""
    config: str = ""
    config_digest: str = ""
    reuse: bool = True
    """Whether work that another run did for the same step key is adopted."""

    def __post_init__(self) -> None:
        check_run(self.run)

    @property
    def store(self) -> Store:
        """The run's store."""
        return open_store(self.settings.store)

    @property
    def journal(self) -> Journal:
        """The run's records."""
        return Journal(self.store)

    def begin(self) -> RunRecord:
        """Records the run's start, or returns the record that is there already."""
        known = self.journal.run(self.run)
        return known or self.journal.begin(self.record(environment=self._environment()))

    def _environment(self) -> str:
        """Keeps the list of distributions where the image is a digest over it."""
        found = python_environment()
        same = self.image == f"sha256:{digest_of(found)}"
        return put_document(self.store, found) if same else ""

    def record(self, *, environment: str = "") -> RunRecord:
        """The run's record, started now."""
        return RunRecord(
            run=self.run,
            path=self.path,
            engine=self.engine,
            external_id=self.external_id,
            url=self.url,
            namespace=self.settings.namespace,
            team=self.settings.team,
            queue=self.settings.queue,
            code=self.code,
            image=self.image,
            environment=environment,
            config=self.config,
            config_digest=self.config_digest,
            started_at=datetime.now(UTC),
        )

    def as_recorded(self, record: RunRecord) -> RunContext:
        """The same run with its configuration from its record, which a pod of an engine does not know."""
        if self.config_digest:
            return self
        return replace(self, config=record.config, config_digest=record.config_digest)

    def environment(self) -> dict[str, str]:
        """The variables that carry this run into another process; see ``from_environment``."""
        found = {
            "GOLDENPATH_RUN": self.run,
            _PREFIX + "PATH": self.path,
            _PREFIX + "ENGINE": self.engine,
            _PREFIX + "EXTERNAL_ID": self.external_id,
            _PREFIX + "URL": self.url,
            _PREFIX + "CODE": self.code.model_dump_json(),
            _PREFIX + "CONFIG": self.config,
            _PREFIX + "CONFIG_DIGEST": self.config_digest,
            _PREFIX + "REUSE": "1" if self.reuse else "0",
            "GOLDENPATH_STORE": self.settings.store,
            "MLFLOW_TRACKING_URI": self.settings.tracking,
        }
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """One attempt at one step of a run."""

    run: RunContext
    step: str
    attempt: str
    key: str

    @property
    def store(self) -> Store:
        """The run's store."""
        return self.run.store

    @property
    def folder(self) -> str:
        """The key prefix, ending in '/', where this step keeps logs, outputs and reports."""
        return keys.step_folder(self.run.run, self.step)

    @property
    def place(self) -> Place:
        """What the job of this step needs to know of it."""
        settings = self.run.settings
        return Place(
            run=self.run.run,
            step=self.step,
            store=self.store,
            # The folder may be there from an earlier attempt, with a job in it to adopt.
            work_dir=settings.state_dir / "runs" / self.run.run / self.step,
            cache_dir=Path(settings.cache_dir),
            tracking=settings.tracking,
        )


_run: ContextVar[RunContext | None] = ContextVar("goldenpath_run", default=None)
_step: ContextVar[StepContext | None] = ContextVar("goldenpath_step", default=None)


@contextlib.contextmanager
def in_run(context: RunContext) -> Iterator[RunContext]:
    """Components called inside the context are steps of this run."""
    token = _run.set(context)
    try:
        yield context
    finally:
        _run.reset(token)


@contextlib.contextmanager
def in_step(context: StepContext) -> Iterator[StepContext]:
    """Makes a step the current one; the component decorator's business."""
    token = _step.set(context)
    try:
        yield context
    finally:
        _step.reset(token)


def current_run() -> RunContext:
    """The run of the calling code: the surrounding ``in_run``, else the environment's, else a new one."""
    found = _run.get() or from_environment()
    return found or RunContext(run=new_run(), settings=settings_module.load(), image=image_identity())


def current_step() -> StepContext:
    """The step of the calling code.

    Raises:
        GoldenPathError: The caller is not inside a component.
    """
    found = _step.get()
    if found is None:
        raise GoldenPathError("There is no current step: only a component's body has one.")
    return found


def from_environment(environ: Mapping[str, str] | None = None) -> RunContext | None:
    """The run that an engine put into this pod's environment, or None.

    ``GOLDENPATH_RUN`` is the engine's own id (KFP: the label pipeline/runid by the downward API,
    Argo: the workflow's uid), so that every pod of a run agrees without a parameter.
    """
    environ = os.environ if environ is None else environ
    run = environ.get("GOLDENPATH_RUN")
    if not run:
        return None
    settings = settings_module.load(environ=environ)
    code = environ.get(_PREFIX + "CODE")
    context = RunContext(
        run=run,
        settings=settings,
        path=environ.get(_PREFIX + "PATH", ""),
        engine=environ.get(_PREFIX + "ENGINE", "python"),
        external_id=environ.get(_PREFIX + "EXTERNAL_ID", run),
        url=environ.get(_PREFIX + "URL", ""),
        code=Code.model_validate_json(code) if code else Code(),
        config=environ.get(_PREFIX + "CONFIG", ""),
        config_digest=environ.get(_PREFIX + "CONFIG_DIGEST", ""),
        reuse=environ.get(_PREFIX + "REUSE", "1") != "0",
    )
    return replace(context, image=image_identity(settings.image))


def step_from_environment() -> str:
    """The step name that an engine's task gave this process, or an empty string."""
    name = os.environ.get(STEP_VARIABLE, "")
    return check_step(name) if name else ""
