"""A real service on this machine, shared by the module: Envoy, KServe model servers, tiny pyfuncs."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from goldenpath import registry, serving
from goldenpath.provenance import Code
from goldenpath.registry import Evidence
from goldenpath.serving import ErrorRate, Latency, PromotionPlan, PromotionResult, Traffic, services
from goldenpath.serving.services import ServiceStatus
from goldenpath.store import Store, open_store, put_document

EXAMPLE = b'{"inputs": [[1.0, 2.0]]}'

PLAN = PromotionPlan(
    steps=(30.0,),
    metrics=(ErrorRate(margin=0.05), Latency(over_ms=1000, margin=0.2)),
    min_requests=30,
    bake_s=1,
    warmup_s=0.5,
    look_every_s=0.5,
    max_step_s=90,
    traffic=Traffic(rps=40),
)

_MLMODEL = """\
flavors:
  python_function:
    loader_module: mlflow.pyfunc.loaders.code_model
    model_code_path: model.py
    code: null
    env: null
    streamable: false
mlflow_version: 3.0.0
model_uuid: 00000000000000000000000000000000
saved_input_example_info: null
"""

_CODE = """\
# {number}
import time
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel


class Model(PythonModel):
    seen = 0

    def predict(self, context, model_input, params=None):
        Model.seen += 1
        {body}
        return [sum(row) for row in model_input]


{last}
"""

BODIES = {
    "good": "pass",
    # Both pass the warm-up, as bad models do that were tried with one request only.
    "failing": "assert Model.seen <= 10 or Model.seen % 3, 'a hidden fault'",
    "slow": "time.sleep(0 if Model.seen <= 10 else 1.5)",
    "unloadable": "pass",
}

_PROMOTER = """\
import sys
from pathlib import Path
from goldenpath import serving
from goldenpath.store import open_store
model, plan, champion, run, store, state_dir, name = sys.argv[1:]
serving.promote(model, name, serving.PromotionPlan.model_validate_json(plan), expected_champion=champion,
                run=run, store=open_store(store), state_dir=Path(state_dir), tracking="")
"""


@dataclass
class Service:
    """A service in a project of its own."""

    folder: Path
    name: str = "toy"
    plan: PromotionPlan = PLAN
    _runs: Iterator[int] = field(default_factory=itertools.count)

    @property
    def store(self) -> Store:
        return open_store((self.folder / "store").as_uri())

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def champion(self) -> str:
        return registry.aliases("toy", store=self.store).of(registry.CHAMPION, service=self.name)

    def model(self, body: str) -> str:
        """Registers a new model of a kind of ``BODIES``."""
        number = next(self._runs)
        folder = self.folder / "models" / str(number)
        folder.mkdir(parents=True)
        (folder / "MLmodel").write_text(_MLMODEL)
        last = "import a_missing_module" if body == "unloadable" else "set_model(Model())"
        (folder / "model.py").write_text(_CODE.format(number=number, body=BODIES[body], last=last))
        (folder / "serving_input_example.json").write_bytes(EXAMPLE)
        published = registry.publish(folder, "toy", store=self.store)
        evaluation = put_document(self.store, {"model": published})
        gate = put_document(self.store, {"verdict": "passed", "candidate": evaluation})
        evidence = Evidence(
            evaluation=evaluation, gate=gate, override="", run="r", code=Code(), image="", config_digest=""
        )
        return registry.register(published, "toy", evidence=evidence, store=self.store, tracking="").model

    def promote(self, model: str, *, run: str = "", plan: PromotionPlan | None = None) -> PromotionResult:
        return serving.promote(
            model,
            self.name,
            plan or self.plan,
            expected_champion=self.champion,
            run=run or f"run-{next(self._runs)}",
            store=self.store,
            state_dir=self.state_dir,
            tracking="",
        )

    def rollback(self, reason: str) -> PromotionResult:
        return serving.rollback(
            self.name,
            reason=reason,
            run=f"run-{next(self._runs)}",
            store=self.store,
            state_dir=self.state_dir,
            tracking="",
        )

    def promoter(self, model: str, *, run: str) -> subprocess.Popen[bytes]:
        """Promotes in another process, which may be killed."""
        arguments = [model, self.plan.model_dump_json(), self.champion, run]
        arguments += [self.store.url, str(self.state_dir), self.name]
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(_PROMOTER), *arguments])

    def status(self) -> ServiceStatus:
        return services.status(self.name, store=self.store, state_dir=self.state_dir)[0]

    def split(self) -> dict[str, float]:
        """Percent of the requests by model, of those that get any."""
        return {s.model: s.percent for s in self.status().local.servers if s.percent}

    def processes(self) -> list[int]:
        """Every process whose command line names this service's folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(self.state_dir / "serving" / self.name) in command and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        return found

    def stop(self) -> None:
        services.stop(self.name, state_dir=self.state_dir)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a good champion; a test leaves a good one behind."""
    made = Service(tmp_path_factory.mktemp("service"))
    try:
        assert made.promote(made.model("good")).outcome == "promoted"
        yield made
    finally:
        made.stop()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Service]:
    """A service that never served."""
    made = Service(tmp_path)
    try:
        yield made
    finally:
        if (made.state_dir / "serving" / made.name).exists():
            made.stop()


@pytest.fixture
def clients(service: Service) -> Iterator[Counter[str]]:
    """Users of the service through the whole test; counts their answers by status or fault."""
    answers: Counter[str] = Counter()
    stop = threading.Event()
    url = f"{service.status().local.url}/v1/models/{service.name}:predict"

    def use() -> None:
        with httpx.Client(timeout=30) as client:
            while not stop.is_set():
                try:
                    answer = client.post(url, content=EXAMPLE, headers={"content-type": "application/json"})
                    answers[str(answer.status_code)] += 1
                except httpx.HTTPError as error:
                    answers[repr(error)] += 1
                time.sleep(0.02)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition, for at most two minutes."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, "it did not come about in time"
            time.sleep(0.1)

    return wait


@pytest.fixture
def kill() -> Callable[[subprocess.Popen[bytes]], None]:
    """Kills a promoter with SIGKILL."""

    def act(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    return act


@pytest.fixture
def example() -> dict[str, object]:
    """The models' input example."""
    return dict(json.loads(EXAMPLE))
