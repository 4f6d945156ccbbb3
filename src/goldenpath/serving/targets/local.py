"""A service on this machine: model servers behind Envoy, all on 127.0.0.1.

Everything is under ``<state_dir>/serving/<service>/``: the promoter's lock, the port, Envoy's files and
a folder for each model server. The processes outlive the command that started them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from goldenpath.errors import InputError, NotFound
from goldenpath.refs import Kind, check_name
from goldenpath.serving.metrics.envoy import EnvoyStats
from goldenpath.serving.targets.base import PromoterAtWork, Revision, Split
from goldenpath.serving.targets.proxy import Proxy
from goldenpath.serving.targets.servers import Fetch, ModelServers


@dataclass(frozen=True, kw_only=True)
class ServerState:
    """One model server of a local service."""

    revision: str
    model: str
    alive: bool
    ready: bool
    percent: float


@dataclass(frozen=True, kw_only=True)
class LocalState:
    """What runs of a local service."""

    service: str
    url: str
    proxy_alive: bool
    promoter: str
    """Who promotes at this moment, or empty."""
    servers: tuple[ServerState, ...]


class LocalTarget:
    """One service on this machine."""

    def __init__(self, service: str, *, state_dir: Path, fetch: Fetch, port: int = 0) -> None:
        # A service has a model's name by default, and is a folder here.
        self.service = check_name(service, Kind.MODELS)
        self.folder = services_folder(state_dir) / service
        self.port = port
        self.proxy = Proxy(self.folder / "envoy", service=service)
        self.servers = ModelServers(self.folder / "servers", service=service, fetch=fetch)

    @property
    def url(self) -> str:
        """Where clients find the service; empty before its port is chosen."""
        port = self._kept_port()
        return f"http://127.0.0.1:{port}" if port else ""

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Makes the caller the one promoter of the service on this machine.

        The kernel frees the lock when its process ends, however it ends.

        Raises:
            PromoterAtWork: Another promoter is at work.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PromoterAtWork(
                    f"Another promoter of {self.service} is at work ({self._holder()}).",
                    next_step="Wait for it, or end its rollout with 'goldenpath serve rollback'.",
                ) from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()}")
            lock.flush()
            yield

    def deploy(self, revision: Revision) -> None:
        """Starts a revision's server and the proxy, or adopts them; a dead one is started again."""
        self.servers.start(revision)
        self.proxy.ensure()
        self.proxy.set_clusters(self.servers.ports())
        self._listen()

    def wait_ready(self, revision: Revision, *, within_s: float) -> str:
        """Waits until a revision can answer: an empty text, or why it cannot."""
        return self.servers.wait_ready(revision.name, within_s=within_s)

    def ready(self, revision_name: str) -> bool:
        """Whether a revision can answer at this moment."""
        return self.servers.ready(revision_name)

    def warm_up(self, revision: Revision, payload: bytes) -> str:
        """Sends example requests straight to a revision: an empty text, or what went wrong."""
        return self.servers.warm_up(revision.name, payload)

    def split(self) -> Split:
        """The split that is live."""
        return self.proxy.split()

    def route(self, split: Split) -> None:
        """Makes a split live, and waits for the requests of those that lost their share."""
        self.proxy.ensure()
        self._listen()
        self.proxy.set_split(split)

    def retain(self, names: set[str]) -> None:
        """Stops every revision but those named."""
        gone = [name for name in self.servers.names() if name not in names]
        if not gone:
            return
        ports = self.servers.ports()
        self.proxy.set_clusters({name: port for name, port in ports.items() if name in names})
        for name in gone:
            self.servers.stop(name)

    def source(self) -> EnvoyStats:
        """Envoy's statistics."""
        return EnvoyStats(self.proxy.admin_url)

    def stop(self) -> None:
        """Ends the service: no process of it is left. Its port is kept for the next start."""
        self.proxy.stop()
        for name in self.servers.names():
            self.servers.stop(name)

    def state(self) -> LocalState:
        """What runs at this moment.

        Raises:
            NotFound: There never was such a service here.
        """
        if not self.folder.is_dir():
            raise NotFound(f"There is no service {self.service!r} under {self.folder.parent}.")
        split = self.split()
        return LocalState(
            service=self.service,
            url=self.url,
            proxy_alive=self.proxy.alive,
            promoter=self._holder() if self._held() else "",
            servers=tuple(
                ServerState(
                    revision=name,
                    model=self.servers.model_of(name),
                    alive=self.servers.alive(name),
                    ready=self.servers.ready(name),
                    percent=split.weights.get(name, 0.0),
                )
                for name in self.servers.names()
            ),
        )

    def _listen(self) -> None:
        kept = self._kept_port()
        wanted = self.port or kept
        if not wanted:
            with socket.create_server(("127.0.0.1", 0)) as probe:
                wanted = int(probe.getsockname()[1])
        elif self.port and self.port != kept:
            self._check_free(self.port)
        self.proxy.listen(wanted)
        (self.folder / "port").write_text(str(wanted))

    def _check_free(self, port: int) -> None:
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError as error:
            raise InputError(
                f"Port {port} of 127.0.0.1 cannot be taken for {self.service}: {error.strerror}.",
                next_step="Name another port, or 0 for a free one.",
            ) from None

    def _kept_port(self) -> int:
        try:
            return int((self.folder / "port").read_text())
        except (FileNotFoundError, ValueError):
            return 0

    def _held(self) -> bool:
        try:
            with (self.folder / "lock").open("a+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    def _holder(self) -> str:
        return (self.folder / "lock").read_text().strip() or "just begun"


def services_folder(state_dir: Path) -> Path:
    """Where the local services keep what runs."""
    return state_dir / "serving"
