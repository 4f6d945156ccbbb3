"""Envoy's configuration: the bootstrap file and the resources that it watches. Pure.

Every file is one JSON document, so that equal splits give equal bytes.
"""

from __future__ import annotations

from typing import Any

from goldenpath.provenance import digest_of
from goldenpath.serving.plan import LATENCY_EDGES_MS
from goldenpath.serving.targets.base import Split

ROUTE = "service"
REQUEST_TIMEOUT_S = 60
UPSTREAM_IDLE_S = 30
"""Seconds after which Envoy lets go of an idle connection: before the model server closes it."""

_TYPE = "type.googleapis.com/"
_EXTENSIONS = _TYPE + "envoy.extensions."
_WEIGHT_TOTAL = 10_000


def bootstrap(*, service: str, folder: str) -> dict[str, Any]:
    """The static part: the admin port on 127.0.0.1, and the folder where the rest is watched."""
    return {
        "node": {"id": service, "cluster": "goldenpath"},
        "admin": {"address": _address("127.0.0.1", 0)},
        "dynamic_resources": {
            "lds_config": _watched(folder, "listeners"),
            "cds_config": _watched(folder, "clusters"),
        },
        "stats_flush_interval": "1s",
        "stats_config": {
            "histogram_bucket_settings": [
                {
                    "match": {"suffix": "upstream_rq_time"},
                    "buckets": [float(edge) for edge in LATENCY_EDGES_MS],
                }
            ]
        },
    }


def listeners(*, port: int, folder: str) -> dict[str, Any]:
    """The one listener, on 127.0.0.1; its routes are watched apart, so that a split moves no socket."""
    manager = {
        "@type": _EXTENSIONS + "filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "service",
        "rds": {"route_config_name": ROUTE, "config_source": _watched(folder, "routes")},
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": _EXTENSIONS + "filters.http.router.v3.Router"},
            }
        ],
    }
    return _response(
        {
            "@type": _TYPE + "envoy.config.listener.v3.Listener",
            "name": "service",
            "address": _address("127.0.0.1", port),
            # Else the kernel would share a port that another process of this user listens on.
            "enable_reuse_port": False,
            "filter_chains": [
                {
                    "filters": [
                        {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
                    ]
                }
            ],
        }
    )


def no_resources() -> dict[str, Any]:
    """What a watched file holds before anything is known: Envoy starts only where all exist."""
    return _response()


def clusters(ports: dict[str, int]) -> dict[str, Any]:
    """One cluster a revision, each with one model server on 127.0.0.1."""
    return _response(*(_cluster(name, port) for name, port in sorted(ports.items())))


def routes(split: Split) -> dict[str, Any]:
    """All requests to the clusters by weight, copies to the mirror. An empty split answers 503."""
    weights = {name: round(percent * _WEIGHT_TOTAL / 100) for name, percent in sorted(split.weights.items())}
    route: dict[str, Any] = {"match": {"prefix": "/"}}
    if any(weights.values()):
        action: dict[str, Any] = {
            "weighted_clusters": {
                "clusters": [{"name": name, "weight": weight} for name, weight in weights.items() if weight]
            },
            "timeout": f"{REQUEST_TIMEOUT_S}s",
            "retry_policy": {"retry_on": "connect-failure,reset-before-request", "num_retries": 2},
        }
        if split.mirror:
            share = {
                "numerator": round(split.mirror_percent * _WEIGHT_TOTAL / 100),
                "denominator": "TEN_THOUSAND",
            }
            action["request_mirror_policies"] = [
                {"cluster": split.mirror, "runtime_fraction": {"default_value": share}}
            ]
        route["route"] = action
    else:
        route["direct_response"] = {"status": 503}
    return _response(
        {
            "@type": _TYPE + "envoy.config.route.v3.RouteConfiguration",
            "name": ROUTE,
            "virtual_hosts": [{"name": "service", "domains": ["*"], "routes": [route]}],
        }
    )


def version_of(response: dict[str, Any]) -> str:
    """The version by which Envoy tells which file it works by."""
    return str(response["version_info"])


def split_of(response: dict[str, Any]) -> Split:
    """The split that a routes file stands for; the inverse of ``routes``."""
    action = response["resources"][0]["virtual_hosts"][0]["routes"][0].get("route")
    if action is None:
        return Split()
    weights = {c["name"]: c["weight"] * 100 / _WEIGHT_TOTAL for c in action["weighted_clusters"]["clusters"]}
    for policy in action.get("request_mirror_policies", ()):
        share = policy["runtime_fraction"]["default_value"]["numerator"] * 100 / _WEIGHT_TOTAL
        return Split(weights=weights, mirror=policy["cluster"], mirror_percent=share)
    return Split(weights=weights)


_DUMPS = {
    "listeners": ("ListenersConfigDump", ""),
    "clusters": ("ClustersConfigDump", ""),
    "routes": ("RoutesConfigDump", "dynamic_route_configs"),
}
"""For each file: the part of a configuration dump that tells its version, and the list in it."""


def live_version(dump: dict[str, Any], name: str) -> str:
    """The version of a file that Envoy works by; empty while there is none, or while it changes over."""
    kind, inner = _DUMPS[name]
    part = _part(dump, kind)
    if inner:
        entries = part.get(inner, [])
        return str(entries[0].get("version_info", "")) if entries else ""
    if part.get("dynamic_warming_clusters"):
        return ""
    if any("active_state" not in listener for listener in part.get("dynamic_listeners", [])):
        return ""
    return str(part.get("version_info", ""))


def refusal(dump: dict[str, Any], name: str) -> str:
    """Why Envoy does not take a file, or an empty text."""
    part = _part(dump, _DUMPS[name][0])
    for entry in (*part.get("dynamic_listeners", ()), *part.get("dynamic_route_configs", ())):
        if entry.get("error_state"):
            return str(entry["error_state"].get("details", "no reason given"))
    return ""


def _part(dump: dict[str, Any], kind: str) -> dict[str, Any]:
    for part in dump.get("configs", ()):
        if part.get("@type", "").endswith(f".{kind}"):
            return dict(part)
    return {}


def _cluster(name: str, port: int) -> dict[str, Any]:
    return {
        "@type": _TYPE + "envoy.config.cluster.v3.Cluster",
        "name": name,
        "type": "STATIC",
        "connect_timeout": "2s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _address("127.0.0.1", port)}}]}],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": _EXTENSIONS + "upstreams.http.v3.HttpProtocolOptions",
                "common_http_protocol_options": {"idle_timeout": f"{UPSTREAM_IDLE_S}s"},
                "explicit_http_config": {"http_protocol_options": {}},
            }
        },
    }


def _response(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version_info": digest_of(list(resources))[:16], "resources": list(resources)}


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _watched(folder: str, name: str) -> dict[str, Any]:
    return {
        "resource_api_version": "V3",
        "path_config_source": {
            "path": f"{folder}/{name}.json",
            # The files are replaced by renames, which only the folder's watch sees.
            "watched_directory": {"path": folder},
        },
    }
