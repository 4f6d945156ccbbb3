"""What the pods of a compiled path carry: who they are, their settings, and their queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from goldenpath.errors import ConfigError
from goldenpath.provenance import Code

SETTINGS_MAP = "goldenpath"
"""The ConfigMap of the namespace with the settings, by the names of their variables."""
REQUIRED_SETTINGS = ("GOLDENPATH_STORE", "MLFLOW_TRACKING_URI")
OPTIONAL_SETTINGS = ("GOLDENPATH_NAMESPACE", "GOLDENPATH_TEAM", "GOLDENPATH_QUEUE", "GOLDENPATH_METRICS_URL")

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"

_LAUNCHER = "starts a job that carries the label itself; queued, it would hold quota while that waits"
EXEMPT: dict[str, str] = {
    "begin": "reads the configuration, for a second",
    "run.pin": "reads and writes small records, for a second",
    "run.finish": "writes one small record",
    "registry.register": "copies nothing: one record, and its mirror in MLflow",
    "serving.promote": "waits for traffic; the servers that it starts are not its own pod",
    "serving.rollback": "moves weights, for a second",
    "training.launch": _LAUNCHER,
    "evaluation.evaluate": _LAUNCHER,
}
"""Components whose pods stay out of the queue, with the reason; all others do their work in their own pod."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """The LocalQueue of a path's pods."""

    name: str
    priority: str = ""

    def __post_init__(self) -> None:
        if self.name == "default":
            raise ConfigError(
                "The queue 'default' is refused: Kueue puts every pod without a label into a LocalQueue of "
                "that name, the launchers too.",
                next_step="Name the team's own LocalQueue.",
            )


@dataclass(frozen=True, kw_only=True)
class Placement:
    """How a path is compiled: what is the same for all its pods."""

    engine: str
    path: str
    image: str
    queue: Queue | None = None
    code: Code = field(default_factory=Code)

    def __post_init__(self) -> None:
        name, _, tag = self.image.rpartition("/")[2].partition(":")
        if "@sha256:" not in self.image and tag in ("", "latest"):
            raise ConfigError(
                f"The image {self.image!r} is not pinned: what {name!r} stands for changes under the path.",
                next_step="Give it a tag other than latest, or better a digest (name@sha256:…).",
            )

    def environment(self, step: str) -> dict[str, str]:
        """The variables of a step's pod that are known at compile time; see ``RunContext``.

        The run comes from the engine, the configuration's digest from the run's record.
        """
        found = {
            "GOLDENPATH_STEP": step,
            "GOLDENPATH_IMAGE": self.image,
            "GOLDENPATH_RUN_ENGINE": self.engine,
            "GOLDENPATH_RUN_PATH": self.path,
        }
        if self.code != Code():
            found["GOLDENPATH_RUN_CODE"] = self.code.model_dump_json()
        return found

    def labels(self, component: str, *, backend: str = "") -> Mapping[str, str]:
        """The queue's labels where the component's own pod does the work, else none.

        Args:
            component: The component's name.
            backend: For a launcher: with ``local`` the job runs inside its own pod.
        """
        works = component not in EXEMPT or (EXEMPT[component] is _LAUNCHER and backend == "local")
        if self.queue is None or not works:
            return {}
        found = {QUEUE_LABEL: self.queue.name}
        if self.queue.priority:
            found[PRIORITY_LABEL] = self.queue.priority
        return found
