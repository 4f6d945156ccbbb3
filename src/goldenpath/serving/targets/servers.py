"""The model server processes of a local service: one a revision, started or adopted."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from goldenpath.serving.targets import daemon
from goldenpath.serving.targets.base import Revision

Fetch = Callable[[str, Path], object]
"""Brings a model's verified files, by its reference, into a folder that may hold them already."""

WARM_UP_REQUESTS = 5
_GRACE_S = 25.0
_POLL_S = 0.1
_PROBE_S = 2.0
_REQUEST_S = 60.0


class ModelServers:
    """The servers of one service; a folder each, named after the revision."""

    def __init__(self, folder: Path, *, service: str, fetch: Fetch) -> None:
        self.folder = folder
        self.service = service
        self._fetch = fetch

    def start(self, revision: Revision) -> None:
        """Starts a revision's server on a free port of 127.0.0.1, or adopts the live one."""
        home = self.folder / revision.name
        if self.alive(revision.name):
            return
        home.mkdir(parents=True, exist_ok=True)
        (home / "reference").write_text(revision.model)
        self._fetch(revision.model, home / "model")
        # Bound here, so that the port is known and nobody else can take it before the model is loaded.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.set_inheritable(True)
            (home / "port").write_text(str(listener.getsockname()[1]))
            command = [
                sys.executable,
                "-P",
                "-m",
                "goldenpath.serving.server",
                "--folder",
                str(home / "model"),
            ]
            command += ["--name", self.service, "--fd", str(listener.fileno())]
            daemon.start(
                command,
                pid_file=home / "pid",
                log=home / "server.log",
                environ=os.environ,
                fds=(listener.fileno(),),
            )

    def alive(self, name: str) -> bool:
        """Whether a revision's process lives."""
        return self._pid(name) is not None

    def names(self) -> list[str]:
        """Every revision that has a folder, running or not."""
        return sorted(path.name for path in self.folder.glob("rev-*"))

    def model_of(self, name: str) -> str:
        """The reference of a revision's model."""
        return (self.folder / name / "reference").read_text()

    def ports(self) -> dict[str, int]:
        """The ports of the living servers, by revision."""
        return {
            name: int((self.folder / name / "port").read_text()) for name in self.names() if self.alive(name)
        }

    def ready(self, name: str) -> bool:
        """Whether a revision's model is loaded and its server answers."""
        try:
            return (
                httpx.get(self._url(name, "/v2/health/ready"), timeout=_PROBE_S).status_code == httpx.codes.OK
            )
        except (httpx.HTTPError, FileNotFoundError):
            return False

    def wait_ready(self, name: str, *, within_s: float) -> str:
        """Waits for a revision: an empty text, or why it cannot answer."""
        deadline = time.monotonic() + within_s
        while not self.ready(name):
            if not self.alive(name):
                return f"its server ended: {self._last_lines(name)}"
            if time.monotonic() > deadline:
                return f"it was not ready after {within_s:g} s: {self._last_lines(name)}"
            time.sleep(_POLL_S)
        return ""

    def warm_up(self, name: str, payload: bytes) -> str:
        """Sends the example straight to a revision: an empty text, or what went wrong."""
        url = self._url(name, f"/v1/models/{self.service}:predict")
        for _ in range(WARM_UP_REQUESTS):
            try:
                answer = httpx.post(
                    url, content=payload, headers={"content-type": "application/json"}, timeout=_REQUEST_S
                )
            except httpx.HTTPError as error:
                return f"a warm-up request failed: {error!r}"
            if answer.status_code != httpx.codes.OK:
                return f"a warm-up request was answered with {answer.status_code}: {answer.text[:300]}"
        return ""

    def stop(self, name: str) -> None:
        """Ends a revision's server after its open requests, and forgets it."""
        daemon.stop(self.folder / name / "pid", marker=self._marker(name), grace_s=_GRACE_S)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def _pid(self, name: str) -> int | None:
        return daemon.alive(self.folder / name / "pid", marker=self._marker(name))

    def _marker(self, name: str) -> str:
        return str(self.folder / name / "model")

    def _url(self, name: str, path: str) -> str:
        return f"http://127.0.0.1:{(self.folder / name / 'port').read_text()}{path}"

    def _last_lines(self, name: str) -> str:
        return daemon.last_lines(self.folder / name / "server.log")
