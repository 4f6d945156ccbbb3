"""The identities of a run: its name, its steps, its code and its image."""

from __future__ import annotations

import functools
import hashlib
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldenpath.errors import InputError
from goldenpath.masking import without_user
from goldenpath.provenance.canonical import digest_of

_RUN = re.compile(r"[a-z0-9-]{1,40}")
_STEP = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?")
_GIT_SECONDS = 30


class Code(BaseModel):
    """Which code ran. ``digest`` alone decides whether code is the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str = ""
    commit: str = ""
    dirty: str = ""
    """sha256 of the uncommitted changes, empty where there are none."""
    digest: str = ""
    """The digest of the source snapshot where there is one, else of commit and changes."""


def new_run(now: datetime | None = None) -> str:
    """A run's name for an engine that gives none; names sort by time."""
    return f"{(now or datetime.now(UTC)):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def new_attempt() -> str:
    """The name of one attempt at a step: 8 random hexadecimal digits."""
    return secrets.token_hex(4)


def check_run(run: str) -> str:
    """Returns the run's name, or raises InputError."""
    if not _RUN.fullmatch(run):
        raise InputError(
            f"The run {run!r} is not a run's name.", next_step="It is 1 to 40 of a-z, 0-9 and '-'."
        )
    return run


def check_step(step: str) -> str:
    """Returns the step's name, or raises InputError."""
    if not _STEP.fullmatch(step):
        raise InputError(
            f"The step {step!r} is not a step's name.",
            next_step="It is 1 to 63 of a-z, 0-9, '.' and '-', with a letter or digit at both ends.",
        )
    return step


def code_identity(folder: Path) -> Code:
    """The repository, commit and uncommitted changes of a folder; empty outside a repository."""
    commit = _git(folder, "rev-parse", "HEAD").decode().strip()
    if not commit:
        return Code()
    changes = _git(folder, "diff", "--binary", "HEAD", "--", ".")
    untracked = _git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    dirty = hashlib.sha256(changes)
    for name in sorted(filter(None, untracked.split(b"\0"))):
        dirty.update(name + b"\0")
        path = folder / name.decode(errors="surrogateescape")
        if path.is_file():
            dirty.update(hashlib.sha256(path.read_bytes()).digest())
    changed = dirty.hexdigest() if changes or untracked else ""
    return Code(
        # A remote may carry a token (https://user:token@host/…): it must never reach a record.
        repository=without_user(_git(folder, "config", "--get", "remote.origin.url").decode().strip()),
        commit=commit,
        dirty=changed,
        digest=digest_of({"commit": commit, "dirty": changed}),
    )


@functools.cache
def python_environment() -> dict[str, Any]:
    """What stands for the image outside a container: the Python version and every installed distribution."""
    distributions = sorted({f"{d.name.lower()}=={d.version}" for d in metadata.distributions()})
    return {"python": sys.version, "distributions": distributions}


def image_identity(image: str = "") -> str:
    """The image that runs: its registry digest if ``image`` has one, else that of ``python_environment``."""
    _, at, pinned = image.partition("@")
    return pinned if at else "sha256:" + digest_of(python_environment())


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607  (git is found by PATH on purpose)
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
