"""What the pods of a compiled path carry."""

from __future__ import annotations

import pytest

from goldenpath.errors import ConfigError
from goldenpath.pipelines.pods import EXEMPT, PRIORITY_LABEL, QUEUE_LABEL, Placement, Queue
from goldenpath.provenance import Code
from goldenpath.steps import CATALOGUE

IMAGE = "registry.example.org/team/image:1"


def placement(queue: Queue | None = None, image: str = IMAGE, code: Code | None = None) -> Placement:
    return Placement(engine="argo", path="p", image=image, queue=queue, code=code or Code())


def test_without_a_queue_no_pod_is_labelled() -> None:
    assert all(not placement().labels(name, backend="local") for name in CATALOGUE)


def test_every_component_is_queued_or_exempt_for_a_reason() -> None:
    place = placement(Queue(name="team-a"))
    for name in CATALOGUE:
        assert bool(place.labels(name, backend="trainjob")) != bool(EXEMPT.get(name))


def test_launchers_are_queued_only_where_the_job_runs_in_their_own_pod() -> None:
    place = placement(Queue(name="team-a", priority="high"))
    for name in ("training.launch", "evaluation.evaluate"):
        assert place.labels(name, backend="trainjob") == {}
        assert place.labels(name, backend="local") == {QUEUE_LABEL: "team-a", PRIORITY_LABEL: "high"}
    assert place.labels("serving.promote", backend="local") == {}


def test_a_queue_that_captures_every_pod_is_refused() -> None:
    with pytest.raises(ConfigError, match="'default' is refused"):
        Queue(name="default")


@pytest.mark.parametrize(
    "image", ["image", "image:latest", "registry:5000/image", "registry:5000/team/image:latest"]
)
def test_an_image_that_can_change_is_refused(image: str) -> None:
    with pytest.raises(ConfigError, match="is not pinned"):
        placement(image=image)


@pytest.mark.parametrize("image", ["image:1", "registry:5000/team/image:2.0", "image@sha256:" + "a" * 64])
def test_a_pinned_image_is_taken(image: str) -> None:
    assert placement(image=image).environment("gate")["GOLDENPATH_IMAGE"] == image


def test_a_pod_knows_its_step_its_engine_and_its_code() -> None:
    code = Code(commit="c" * 40, digest="d")
    assert placement(code=code).environment("gate") == {
        "GOLDENPATH_STEP": "gate",
        "GOLDENPATH_IMAGE": IMAGE,
        "GOLDENPATH_RUN_ENGINE": "argo",
        "GOLDENPATH_RUN_PATH": "p",
        "GOLDENPATH_RUN_CODE": code.model_dump_json(),
    }
