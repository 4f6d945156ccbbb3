"""Settings: where the store, the tracking server and the engines are.

Each value comes from the environment (``GOLDENPATH_STORE`` …, tracking from ``MLFLOW_TRACKING_URI``
alone), else from ``goldenpath.toml`` in the project's root, else from a default inside the project's
``.goldenpath/`` folder. The root is the nearest folder upwards that holds ``goldenpath.toml``, else
the current one. Credentials are no settings: they come from the environment's own chain.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from goldenpath.errors import ConfigError, RefError
from goldenpath.refs import check_store_url

CONFIG_FILE = "goldenpath.toml"
STATE_FOLDER = ".goldenpath"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The resolved settings. An empty string means: not set."""

    store: str
    tracking: str
    namespace: str = ""
    team: str = ""
    queue: str = ""
    image: str = ""
    metrics_url: str = ""
    kfp_url: str = ""
    argo_url: str = ""
    cache_dir: str = ""
    platform: str = ""
    signing_key: str = ""
    """The file of the private key that registered models are signed with."""
    trusted_key: str = ""
    """The file of the public key that a model must be signed by to be served."""
    root: Path
    sources: Mapping[str, str] = field(default_factory=dict)
    """For each setting, where its value came from."""

    @property
    def state_dir(self) -> Path:
        """The project's own folder for what is not in the store: locks, logs, local services."""
        return self.root / STATE_FOLDER


NAMES = tuple(f.name for f in fields(Settings) if f.name not in ("root", "sources"))
"""Every setting's name."""


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return "MLFLOW_TRACKING_URI" if name == "tracking" else f"GOLDENPATH_{name.upper()}"


def load(*, start: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Resolves the settings as seen from a folder (the current one by default).

    Raises:
        ConfigError: ``goldenpath.toml`` is unreadable or holds an unknown or mistyped key.
    """
    environ = os.environ if environ is None else environ
    root = find_root(start or Path.cwd())
    from_file = _read_file(root / CONFIG_FILE)
    state = root / STATE_FOLDER
    defaults = {
        "store": (state / "store").as_uri(),
        "tracking": f"sqlite:///{state / 'mlflow.db'}",
        "cache_dir": str(state / "cache"),
    }
    values: dict[str, str] = {}
    sources: dict[str, str] = {}
    for name in NAMES:
        if environ.get(variable(name)):
            values[name], sources[name] = environ[variable(name)], variable(name)
        elif name in from_file:
            values[name], sources[name] = from_file[name], str(root / CONFIG_FILE)
        else:
            values[name], sources[name] = defaults.get(name, ""), "default"
    values["store"] = values["store"].rstrip("/")
    try:
        check_store_url(values["store"])
    except RefError as error:
        raise ConfigError(f"{sources['store']}: {error}") from None
    return Settings(root=root, sources=sources, **values)


def find_root(start: Path) -> Path:
    """The nearest folder at or above ``start`` with a ``goldenpath.toml``, else ``start``."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_FILE).is_file():
            return folder
    return start


def _read_file(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    for key, value in content.items():
        if key not in NAMES:
            near = difflib.get_close_matches(key, NAMES, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(NAMES)}."
            raise ConfigError(f"{path}: the key {key!r} is unknown.", next_step=hint)
        if not isinstance(value, str):
            raise ConfigError(f"{path}: {key} must be a text, not {value!r}.")
    return content
