"""A model's inputs and outputs, where its files record them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

_MOST_BYTES = 10 * 2**20


def read_signature(model: Path) -> dict[str, dict[str, str]] | None:
    """Inputs and outputs by name, each with its type, from MLflow's ``MLmodel``; None without any.

    A file that cannot be read is no record: the rule that asks for one then finds no evidence.
    """
    path = model / "MLmodel"
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return None
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        signature = content.get("signature") or {}
        parts = {part: json.loads(signature[part]) for part in ("inputs", "outputs") if signature.get(part)}
        return {part: _fields(fields) for part, fields in parts.items()} or None
    except (yaml.YAMLError, ValueError, AttributeError, TypeError):
        return None


def _fields(fields: list[dict[str, Any]]) -> dict[str, str]:
    return {str(field.get("name", position)): _kind(field) for position, field in enumerate(fields)}


def _kind(field: dict[str, Any]) -> str:
    if field["type"] != "tensor":
        return str(field["type"]) + ("" if field.get("required", True) else ", optional")
    tensor = field["tensor-spec"]
    return f"{tensor['dtype']}{tensor['shape']}"
