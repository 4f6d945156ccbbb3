"""Real Envoy in front of two plain HTTP servers: no request is lost when splits and clusters change."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from goldenpath.errors import InputError
from goldenpath.serving import ErrorRate, Latency
from goldenpath.serving.plan import LATENCY_EDGES_MS
from goldenpath.serving.targets.base import Split
from goldenpath.serving.targets.proxy import Proxy

pytestmark = pytest.mark.local


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = str(self.server.server_port).encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def ports() -> Iterator[dict[str, int]]:
    """Two servers that answer with their port."""
    servers = {
        name: http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) for name in ("rev-a", "rev-b")
    }
    for server in servers.values():
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {name: server.server_port for name, server in servers.items()}
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    made = Proxy(tmp_path / "envoy", service="toy")
    made.ensure()
    try:
        yield made
    finally:
        made.stop()
        assert not made.alive


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_no_request_is_lost_while_splits_and_clusters_change(proxy: Proxy, ports: dict[str, int]) -> None:
    port = free_port()
    only_a = {"rev-a": ports["rev-a"]}
    proxy.listen(port)
    proxy.set_clusters(only_a)
    proxy.set_split(Split(weights={"rev-a": 100.0}))
    answers: Counter[str] = Counter()
    stop = threading.Event()

    def use() -> None:
        with httpx.Client() as client:
            while not stop.is_set():
                try:
                    answer = client.get(f"http://127.0.0.1:{port}/")
                    answers[answer.text if answer.status_code == 200 else str(answer.status_code)] += 1
                except httpx.HTTPError as error:
                    answers[repr(error)] += 1

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        proxy.set_clusters(ports)
        proxy.set_split(Split(weights={"rev-a": 50.0, "rev-b": 50.0}))
        proxy.set_split(Split(weights={"rev-b": 100.0}))
        proxy.set_split(Split(weights={"rev-a": 100.0}))
        proxy.set_clusters(only_a)
    stop.set()
    for thread in threads:
        thread.join()
    assert set(answers) == {str(port) for port in ports.values()}


def test_counters_are_kept_apart_and_every_edge_can_be_read(proxy: Proxy, ports: dict[str, int]) -> None:
    from goldenpath.serving.metrics.envoy import EnvoyStats

    port = free_port()
    proxy.listen(port)
    proxy.set_clusters(ports)
    proxy.set_split(Split(weights={"rev-a": 100.0}, mirror="rev-b", mirror_percent=100.0))
    for _ in range(20):
        assert httpx.get(f"http://127.0.0.1:{port}/").text == str(ports["rev-a"])
    metrics = (ErrorRate(), *(Latency(over_ms=edge) for edge in LATENCY_EDGES_MS))
    source = EnvoyStats(proxy.admin_url)
    for name in ("rev-a", "rev-b"):
        deadline = time.monotonic() + 30
        # Copies are sent beside, and histograms are merged once a second.
        while (found := source.read(name, metrics)).metrics["latency over 30000 ms"][1] < 20:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert found.requests == 20
        assert found.metrics["error rate"] == (0.0, 20.0)
        slow = [found.metrics[f"latency over {edge} ms"][0] for edge in LATENCY_EDGES_MS]
        assert slow == sorted(slow, reverse=True)


def test_a_restarted_proxy_works_by_the_same_files(proxy: Proxy, ports: dict[str, int]) -> None:
    port = free_port()
    proxy.listen(port)
    proxy.set_clusters(ports)
    proxy.set_split(Split(weights={"rev-b": 100.0}))
    again = Proxy(proxy.folder, service="toy")
    admin = again.admin_url
    again.ensure()
    assert again.admin_url == admin, "a live one is adopted"
    assert again.split() == Split(weights={"rev-b": 100.0})


def test_a_port_that_another_listens_on_is_refused(proxy: Proxy) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match="refused the listeners"),
    ):
        proxy.listen(taken.getsockname()[1])
