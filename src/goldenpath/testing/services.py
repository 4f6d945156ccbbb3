"""Real services on this machine, for tests: an S3 store and an MLflow server on free ports.

Each is a context manager that starts the program, waits until it answers, and stops it at the end.
When a service fails to start, the end of its log is in the error.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from goldenpath.errors import ConfigError, Temporary

HOST = "127.0.0.1"
_START_S = 180.0
_STOP_S = 10.0
_LOG_LINES = 20


@dataclass(frozen=True, kw_only=True)
class S3Service:
    """A running S3 server; give ``environment`` to whatever talks to it."""

    endpoint: str
    bucket: str
    environment: Mapping[str, str]

    def url(self, prefix: str = "") -> str:
        """The URL of a prefix in the bucket."""
        return f"s3://{self.bucket}/{prefix}" if prefix else f"s3://{self.bucket}"


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nothing listens on at this moment, all different.

    Only below 30000: SeaweedFS derives more ports by adding 10000, and the kernel hands out client
    ports above 32768.
    """
    found: set[int] = set()
    while len(found) < count:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) != 0:
                found.add(port)
    return list(found)


@contextlib.contextmanager
def seaweedfs(folder: Path) -> Iterator[S3Service]:
    """An S3 server (SeaweedFS) that keeps its data and its log in ``folder``."""
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc, admin, admin_grpc = free_ports(
        10
    )
    key, secret, bucket = secrets.token_hex(8), secrets.token_hex(16), "goldenpath"
    environment = {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL": f"http://{HOST}:{s3}",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    data = folder / "seaweedfs"
    data.mkdir(parents=True, exist_ok=True)
    command = [
        _program("weed"), "-logtostderr=true", "mini",
        f"-dir={data}", f"-ip={HOST}", f"-ip.bind={HOST}", f"-bucket={bucket}",
        f"-s3.port={s3}", f"-s3.port.grpc={s3_grpc}", "-s3.port.iceberg=0", "-s3.port.lance=0",
        f"-master.port={master}", f"-master.port.grpc={master_grpc}", "-master.telemetry=false",
        f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}",
        f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}",
        f"-admin.port={admin}", f"-admin.port.grpc={admin_grpc}", "-admin.ui=false", "-webdav=false",
    ]  # fmt: skip
    with _running("seaweedfs", command, folder, environment, f"http://{HOST}:{s3}/healthz"):
        yield S3Service(endpoint=environment["AWS_ENDPOINT_URL"], bucket=bucket, environment=environment)


@contextlib.contextmanager
def mlflow_server(folder: Path) -> Iterator[str]:
    """An MLflow tracking server on SQLite in ``folder``; gives its URL."""
    (port,) = free_ports(1)
    url = f"http://{HOST}:{port}"
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}",
        "--artifacts-destination", (folder / "mlflow-artifacts").as_uri(),
    ]  # fmt: skip
    with _running("mlflow", command, folder, {"MLFLOW_DISABLE_TELEMETRY": "true"}, f"{url}/health"):
        yield url


@contextlib.contextmanager
def _running(
    name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str], health: str
) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    try:
        _wait_until_healthy(name, process, health, log)
        yield
    finally:
        _stop(process)


def _wait_until_healthy(name: str, process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Temporary(f"{name} ended with {process.returncode} at its start:\n{_tail(log)}")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(health, timeout=2).is_success:
                return
        time.sleep(0.05)
    raise Temporary(f"{name} did not answer at {health} within {_START_S:.0f} s:\n{_tail(log)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    # The whole session: MLflow's server has workers of its own.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 15)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])


def _program(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise ConfigError(f"The program {name!r} is not installed.", next_step="Install goldenpath[dev].")
    return found
