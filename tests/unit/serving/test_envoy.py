"""Envoy's files and statistics, against recorded ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldenpath.serving import CounterRatio, ErrorRate, Latency
from goldenpath.serving.metrics.base import Unreadable
from goldenpath.serving.metrics.envoy import arm_of, parse
from goldenpath.serving.targets import envoy
from goldenpath.serving.targets.base import Split

GOLDEN = Path(__file__).with_name("golden")
SPLITS = {
    "nobody": Split(),
    "stable": Split(weights={"rev-a": 100.0}),
    "canary": Split(weights={"rev-a": 87.5, "rev-b": 12.5}),
    "shadow": Split(weights={"rev-a": 100.0}, mirror="rev-b", mirror_percent=25.0),
}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("bootstrap", envoy.bootstrap(service="toy", folder="/state/xds")),
        ("listeners", envoy.listeners(port=8080, folder="/state/xds")),
        ("clusters", envoy.clusters({"rev-b": 9002, "rev-a": 9001})),
        *((f"routes-{name}", envoy.routes(split)) for name, split in SPLITS.items()),
    ],
)
def test_the_files_are_the_golden_ones(name: str, document: dict[str, object]) -> None:
    assert json.loads((GOLDEN / f"{name}.json").read_text()) == document


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_a_split_is_read_back_from_its_file(split: Split) -> None:
    assert envoy.split_of(envoy.routes(split)) == split


def test_equal_files_have_equal_versions_and_others_not() -> None:
    versions = {envoy.version_of(envoy.routes(split)) for split in SPLITS.values()}
    assert len(versions) == len(SPLITS)
    assert envoy.version_of(envoy.routes(SPLITS["canary"])) in versions


def test_everything_listens_on_this_machine_alone() -> None:
    text = json.dumps([envoy.bootstrap(service="toy", folder="/x"), envoy.listeners(port=1, folder="/x")])
    assert "127.0.0.1" in text
    assert "0.0.0.0" not in text


DUMP = {
    "configs": [
        {"@type": "x.ClustersConfigDump", "version_info": "c1"},
        {"@type": "x.ListenersConfigDump", "version_info": "l1", "dynamic_listeners": [{"active_state": {}}]},
        {"@type": "x.ScopedRoutesConfigDump"},
        {"@type": "x.RoutesConfigDump", "dynamic_route_configs": [{"version_info": "r1"}]},
    ]
}


def test_the_live_version_is_read_from_each_part_of_the_dump() -> None:
    assert [envoy.live_version(DUMP, name) for name in ("clusters", "listeners", "routes")] == [
        "c1",
        "l1",
        "r1",
    ]
    assert envoy.live_version({"configs": []}, "routes") == ""


def test_what_is_still_warming_is_not_live() -> None:
    warming = {
        "configs": [{"@type": "x.ClustersConfigDump", "version_info": "c2", "dynamic_warming_clusters": [{}]}]
    }
    assert envoy.live_version(warming, "clusters") == ""
    failed = {
        "configs": [
            {
                "@type": "x.ListenersConfigDump",
                "version_info": "l2",
                "dynamic_listeners": [{"error_state": {"details": "cannot bind"}}],
            }
        ]
    }
    assert envoy.live_version(failed, "listeners") == ""
    assert envoy.refusal(failed, "listeners") == "cannot bind"


EXPOSITION = (GOLDEN / "stats.txt").read_text()


def test_counters_are_read_from_a_recorded_exposition() -> None:
    metrics = (
        ErrorRate(),
        Latency(over_ms=200),
        CounterRatio(bad="upstream_rq_retry", total="upstream_rq_total", margin=0.1),
    )
    found = arm_of(parse(EXPOSITION, "rev-b"), "rev-b", metrics)
    assert found.requests == 30
    assert found.metrics == {
        "error rate": (7.0, 29.0),
        "latency over 200 ms": (4.0, 29.0),
        "upstream_rq_retry of upstream_rq_total": (1.0, 30.0),
    }


def test_a_class_of_answers_that_never_came_counts_as_none() -> None:
    found = arm_of(parse(EXPOSITION, "rev-a"), "rev-a", (ErrorRate(), Latency()))
    assert found.metrics == {"error rate": (0.0, 0.0), "latency over 200 ms": (0.0, 0.0)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no counter upstream_rq_total"),
        (EXPOSITION.replace('le="200"', 'le="250"'), "no edge at 200 ms"),
        (EXPOSITION.replace("upstream_rq_completed", "gone"), "no counter upstream_rq_completed"),
        (EXPOSITION + EXPOSITION, "several series"),
        (EXPOSITION.replace("} 30", "} many"), "'many'"),
    ],
)
def test_an_exposition_that_lacks_something_is_unreadable(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        arm_of(parse(text, "rev-b"), "rev-b", (ErrorRate(), Latency()))
