"""MLflow's wrapper around a model: what of it differs from run to run, and how it is taken out.

``MLmodel`` holds an id, the time, and paths of the machine that saved it. They would give the same
weights another digest at each training, and carry a machine's paths into production.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

import yaml

from goldenpath.errors import InputError

WRAPPER = "MLmodel"

_VOLATILE = ("model_uuid", "model_id", "run_id", "utc_time_created", "artifact_path")
_PATHS = ("model_code_path",)


def settle(folder: Path) -> None:
    """Rewrites a folder's ``MLmodel``, if it has one, so that equal models have equal files.

    Raises:
        InputError: The file is no YAML mapping.
    """
    file = folder / WRAPPER
    if not file.is_file():
        return
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is no valid YAML: {error}.") from None
    if not isinstance(content, dict):
        raise InputError(f"{file} holds {type(content).__name__}, not a mapping of keys.")
    settled = yaml.safe_dump(settled_wrapper(content), sort_keys=True, allow_unicode=True)
    file.write_text(settled, encoding="utf-8")


def settled_wrapper(content: dict[str, Any]) -> dict[str, Any]:
    """The content of an ``MLmodel`` without ids and times, its paths without the machine's folders."""
    kept = {key: value for key, value in content.items() if key not in _VOLATILE}
    flavors = {name: dict(flavor) for name, flavor in (content.get("flavors") or {}).items()}
    for flavor in flavors.values():
        for key in _PATHS:
            if flavor.get(key):
                flavor[key] = PurePath(flavor[key]).name
        artifacts = flavor.get("artifacts")
        if isinstance(artifacts, dict):
            # ``path`` is where the artifact lies in the model; ``uri`` is where it came from.
            flavor["artifacts"] = {
                name: {key: value for key, value in artifact.items() if key != "uri"}
                for name, artifact in artifacts.items()
            }
    return {**kept, "flavors": flavors} if flavors else kept
