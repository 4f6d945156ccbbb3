"""The plan of a promotion: what a user writes, and what it means for each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from goldenpath.serving.judge.spec import JudgeSpec, MetricSpec

LATENCY_EDGES_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000)
"""The bucket edges of the latency histograms, in milliseconds: shares over them are exact."""


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ErrorRate(_Config):
    """The share of requests answered with a 5xx, as the proxy in front of the model server counts it."""

    kind: Literal["error_rate"] = "error_rate"
    margin: float = Field(default=0.02, ge=0, lt=1)
    """How much larger the canary's share may be than the stable arm's."""

    @property
    def name(self) -> str:
        """The metric's name in samples and verdicts."""
        return "error rate"


class Latency(_Config):
    """The share of requests that take longer than an edge of the latency histogram."""

    kind: Literal["latency"] = "latency"
    over_ms: int = 200
    """Milliseconds; one of ``LATENCY_EDGES_MS``."""
    margin: float = Field(default=0.05, ge=0, lt=1)
    """How much larger the canary's share may be than the stable arm's."""

    @model_validator(mode="after")
    def _on_an_edge(self) -> Latency:
        if self.over_ms not in LATENCY_EDGES_MS:
            raise ValueError(f"over_ms is {self.over_ms}, not one of {', '.join(map(str, LATENCY_EDGES_MS))}")
        return self

    @property
    def name(self) -> str:
        """The metric's name in samples and verdicts."""
        return f"latency over {self.over_ms} ms"


class CounterRatio(_Config):
    """Any ratio of two counters that the metrics source has for each arm."""

    kind: Literal["ratio"] = "ratio"
    bad: str
    """The counter of what is bad."""
    total: str
    """The counter of all."""
    margin: float = Field(ge=0, lt=1)

    @property
    def name(self) -> str:
        """The metric's name in samples and verdicts."""
        return f"{self.bad} of {self.total}"


Metric = Annotated[ErrorRate | Latency | CounterRatio, Field(discriminator="kind")]


class Traffic(_Config):
    """Load of our own at a service that has no users: for development on one machine.

    The model's input example is sent again and again, so that judged are its latency and errors on
    this one request, and nothing of what users would send.
    """

    rps: float = Field(default=100.0, gt=0, le=10_000)
    """Requests a second, sent on schedule whether or not earlier ones were answered."""


class PromotionPlan(_Config):
    """How a model comes into service.

    At each step the canary gets its share of the requests until the judge passes it, fails it, or the
    time is over. A first model has nothing to be compared with: it is warmed up and gets everything.
    """

    outside_identity: ClassVar[frozenset[str]] = frozenset({"target", "port"})
    """Where the service runs, which makes no other verdict."""

    target: Literal["local"] = "local"
    """Where the service runs: ``local`` is Envoy in front of model servers on this machine."""
    shadow: float = Field(default=0.0, ge=0, lt=100)
    """Percent of the requests copied to the canary in a step before the first; its answers are dropped."""
    steps: tuple[float, ...] = (20.0, 50.0)
    """Percent of the requests for the canary at each step, rising, each under 100."""
    metrics: tuple[Metric, ...] = Field(default=(ErrorRate(), Latency()), min_length=1)
    """What the canary is judged by, each with its margin."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """The chance that a rollout fails a canary as good as the stable arm; over all steps and metrics."""
    min_requests: int = Field(default=100, ge=1)
    """Requests that each arm must have answered in a step before it passes."""
    bake_s: float = Field(default=5.0, ge=0)
    """Seconds that each step lasts at least."""
    warmup_s: float = Field(default=1.0, ge=0)
    """Seconds at the start of each step that are not judged."""
    max_step_s: float = Field(default=300.0, gt=0)
    """Seconds after which a step without a verdict ends the rollout: paused, with no canary traffic."""
    look_every_s: float = Field(default=1.0, ge=0.1)
    """Seconds between two looks at the metrics."""
    ready_s: float = Field(default=120.0, gt=0)
    """Seconds that the canary has to load and get ready."""
    traffic: Traffic | None = Traffic()
    """Load for a local service, or None where users' requests alone shall be judged."""
    port: int = Field(default=0, ge=0, le=65535)
    """The service's port on 127.0.0.1; 0 takes a free one and keeps it."""

    @model_validator(mode="after")
    def _consistent(self) -> PromotionPlan:
        if not self.steps and not self.shadow:
            raise ValueError("a plan needs a step or a shadow")
        if any(not 0 < percent < 100 for percent in self.steps):
            raise ValueError("each step is over 0 and under 100 percent")
        if any(a >= b for a, b in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError("the steps must rise")
        names = [metric.name for metric in self.metrics]
        if len(set(names)) < len(names):
            raise ValueError(f"a metric is given twice: {', '.join(names)}")
        if self.bake_s + self.warmup_s >= self.max_step_s:
            raise ValueError("warmup_s and bake_s leave no time before max_step_s")
        return self


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What the canary gets in one step: a share of the requests, or a copy of a share of them."""

    percent: float
    mirrored: bool = False

    def __str__(self) -> str:
        return f"{'shadow ' if self.mirrored else ''}{self.percent:g}%"

    @property
    def canary_share(self) -> float:
        """The canary's share of all requests that both arms get."""
        return self.percent / (100 + self.percent) if self.mirrored else self.percent / 100


def exposures(plan: PromotionPlan) -> tuple[Exposure, ...]:
    """The steps of a plan, the shadow first."""
    shadow = (Exposure(percent=plan.shadow, mirrored=True),) if plan.shadow else ()
    return shadow + tuple(Exposure(percent=percent) for percent in plan.steps)


def judge_spec(plan: PromotionPlan, step: int) -> JudgeSpec:
    """What a step is judged by; ``alpha`` is shared out over the steps here, over the metrics there."""
    steps = exposures(plan)
    return JudgeSpec(
        metrics=tuple(
            MetricSpec(name=m.name, margin=m.margin, burst=isinstance(m, ErrorRate)) for m in plan.metrics
        ),
        canary_share=steps[step].canary_share,
        alpha_fail=plan.alpha / len(steps),
        alpha_pass=plan.alpha,
        min_requests=plan.min_requests,
        bake_s=plan.bake_s,
        warmup_s=plan.warmup_s,
        stale_s=max(10.0, 5 * plan.look_every_s),
    )
