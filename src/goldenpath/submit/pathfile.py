"""The file that a user writes: read, overridden, validated."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from goldenpath.errors import ConfigError, NotFound
from goldenpath.pipelines import PATHS
from goldenpath.validation import validated


@dataclass(frozen=True, kw_only=True)
class LoadedPath:
    """A path with its configuration."""

    name: str
    package: str
    """The package with the path's ``config``, ``recipe``, ``kfp`` and ``argo`` modules."""
    config: Any
    """The path's own ``Config`` model, as written: local sources relative to the file."""
    file: Path

    @property
    def folder(self) -> Path:
        """The folder of the path file."""
        return self.file.parent

    @property
    def resolved(self) -> Any:
        """The configuration with absolute sources, as steps need it."""
        return self.config.resolved(self.file)

    def module(self, name: str) -> Any:
        """One of the path's modules, imported when it is needed."""
        return importlib.import_module(f"{self.package}.{name}")


def load_path(name: str, file: Path, *, overrides: Sequence[str] = ()) -> LoadedPath:
    """Reads a path file.

    Args:
        name: The path, as in ``train-to-serve``.
        file: The YAML file.
        overrides: ``key=value`` with a dotted key and a YAML value, the last one wins.

    Raises:
        ConfigError: The path is unknown, or the file is not one of this path: each wrong key is named,
            with the nearest right one.
        NotFound: There is no such file.
    """
    if name not in PATHS:
        near = difflib.get_close_matches(name, PATHS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Paths: {', '.join(PATHS)}."
        raise ConfigError(f"There is no path {name!r}.", next_step=hint)
    content = _read(file)
    for override in overrides:
        _override(content, override)
    written_for = content.get("path", name)
    if written_for != name:
        raise ConfigError(
            f"{file} is written for the path {written_for!r}, not {name!r}.",
            next_step=f"Run `goldenpath run {written_for} -f {file}`.",
        )
    content["path"] = name
    module = importlib.import_module(f"{PATHS[name]}.config")
    config = validated(module.Config, content, where=str(file))
    return LoadedPath(name=name, package=PATHS[name], config=config, file=file.resolve())


class _Loader(yaml.SafeLoader):
    """YAML where a key given twice is a fault, not silently the last one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise ConfigError(f"line {key_node.start_mark.line + 1}: the key {key!r} is there twice.")
            seen.add(key if isinstance(key, str) else id(key_node))
        return super().construct_mapping(node, deep)


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}.") from None
    try:
        content = yaml.load(text, Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except ConfigError as error:
        raise ConfigError(f"{file}, {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file} is no valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{file} holds {type(content).__name__}, not a mapping of keys.")
    return content


def _override(content: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {override!r} is not key=value.", next_step="Write --set training.nodes=2.")
    *folders, last = key.strip().split(".")
    place = content
    for folder in folders:
        inner = place.get(folder)
        if inner is None:
            inner = place[folder] = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {override!r}: {folder!r} is {inner!r}, and holds no {last!r}.")
        place = inner
    try:
        place[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"--set {override!r}: the value is no valid YAML.") from None
