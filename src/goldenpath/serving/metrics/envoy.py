"""Counters from Envoy's own statistics, in the Prometheus text of its admin port.

Not from the model server's: it counts a 500 as a fast success.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from goldenpath.serving.judge.samples import Arm
from goldenpath.serving.metrics.base import Unreadable
from goldenpath.serving.plan import CounterRatio, ErrorRate, Latency, Metric

_LINE = re.compile(r"(?P<name>\w+)\{(?P<labels>[^}]*)\} (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_TIMEOUT_S = 5.0

Series = dict[str, dict[str, float]]
"""Counters of one cluster: by name, then by the class of the response code or the bucket's edge."""


class EnvoyStats:
    """The statistics of one Envoy. Clusters are named as revisions are."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url

    def read(self, revision_name: str, metrics: Sequence[Metric]) -> Arm:
        """One cluster's counters as they are now.

        Raises:
            Unreadable: Envoy did not answer, or has no such cluster or counter.
        """
        try:
            answer = httpx.get(
                f"{self.admin_url}/stats/prometheus",
                params={"filter": f"^cluster\\.{re.escape(revision_name)}\\."},
                timeout=_TIMEOUT_S,
            ).raise_for_status()
        except httpx.HTTPError as error:
            raise Unreadable(f"Envoy's statistics could not be read: {error!r}") from error
        return arm_of(parse(answer.text, revision_name), revision_name, metrics)


def parse(text: str, cluster: str) -> Series:
    """One cluster's counters and histogram buckets in an exposition.

    Raises:
        Unreadable: A series is given twice, or its value is no number.
    """
    found: Series = {}
    for match in _LINE.finditer(text):
        labels = dict(_LABEL.findall(match["labels"]))
        if labels.pop("envoy_cluster_name", "") != cluster:
            continue
        series = found.setdefault(match["name"].removeprefix("envoy_cluster_"), {})
        label = next(iter(labels.values()), "")
        if label in series or len(labels) > 1:
            raise Unreadable(f"Envoy gave several series of {match['name']} for {cluster}")
        try:
            series[label] = float(match["value"])
        except ValueError:
            raise Unreadable(f"Envoy gave {match['value']!r} for {match['name']}") from None
    return found


def arm_of(series: Series, cluster: str, metrics: Sequence[Metric]) -> Arm:
    """The counters that the metrics need, from one cluster's series.

    Raises:
        Unreadable: One of them is missing.
    """
    return Arm(
        requests=_counter(series, cluster, "upstream_rq_total"),
        metrics={metric.name: _READ[type(metric)](series, cluster, metric) for metric in metrics},
    )


def _errors(series: Series, cluster: str, _metric: Any) -> tuple[float, float]:
    total = _counter(series, cluster, "upstream_rq_completed")
    # Envoy makes the counter of a class with its first answer: absent beside its total means none.
    return series.get("upstream_rq_xx", {}).get("5", 0.0), total


def _slow(series: Series, cluster: str, metric: Latency) -> tuple[float, float]:
    buckets = series.get("upstream_rq_time_bucket", {})
    if not buckets:
        # So is the histogram: there were no answers yet.
        if _counter(series, cluster, "upstream_rq_completed"):
            raise Unreadable(f"Envoy has no latency histogram of {cluster} yet")
        return 0.0, 0.0
    if str(metric.over_ms) not in buckets:
        raise Unreadable(f"Envoy's histogram has no edge at {metric.over_ms} ms")
    total = buckets["+Inf"]
    return total - buckets[str(metric.over_ms)], total


def _ratio(series: Series, cluster: str, metric: CounterRatio) -> tuple[float, float]:
    return _counter(series, cluster, metric.bad), _counter(series, cluster, metric.total)


_READ: dict[type[Any], Callable[[Series, str, Any], tuple[float, float]]] = {
    ErrorRate: _errors,
    Latency: _slow,
    CounterRatio: _ratio,
}
"""How each kind of metric is read: (bad, total)."""


def _counter(series: Series, cluster: str, name: str) -> float:
    values = series.get(name)
    if not values:
        raise Unreadable(f"Envoy has no counter {name} of {cluster}")
    return next(iter(values.values()))
