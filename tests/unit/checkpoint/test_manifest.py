from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from goldenpath.checkpoint import Checkpointer
from goldenpath.checkpoint.manifest import parse
from goldenpath.errors import DataDamaged
from goldenpath.refs import Kind
from goldenpath.store import Store, keys


@pytest.fixture
def content(memory_store: Store) -> Any:
    """A sound manifest, as JSON data."""
    with Checkpointer(store=memory_store, run="run-1", attempt="0000000a", part_size=64) as one:
        one.save(1, {"w": np.arange(30.0), "b": np.ones(2)})
    return json.loads(memory_store.get(keys.ref(Kind.CHECKPOINTS, "run-1", 1)))


def test_a_sound_manifest_is_read_and_written_back_alike(content: Any) -> None:
    data = json.dumps(content, separators=(",", ":")).encode()
    found = parse(data, run="run-1", step=1, where="here")
    assert found.to_bytes() == data
    assert found.size == 8 * 30 + 8 * 2 + 16
    assert [item.size for item in found.objects] == [64, 64, 64, 64, 16]


def set_in(content: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for part in parents:
        content = content[int(part)] if isinstance(content, list) else content[part]
    content[int(last) if isinstance(content, list) else last] = value


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        ("run", "run-2", "says it is run-2:1"),
        ("step", 2, "says it is run-1:2"),
        ("schema", 2, "unreadable"),
        ("attempt", "../../x", "unreadable"),
        ("surprise", 1, "unreadable"),
        ("world_size", 2, "ranks 0 to 1"),
        ("parts.0.objects.0.key", "models/secret/weights", "not the checkpoint's own"),
        ("parts.0.objects.0.key", "checkpoints/run-2/0000000a/0000000001/00000-00000.bin", "own"),
        ("parts.0.objects.0.size", 63, "cannot have 63 bytes"),
        ("parts.0.size", 10**9, "objects for"),
        ("parts.0.objects.0.sha256", "zz", "unreadable"),
        ("arrays.w.chunks.0.start", 10**6, "outside the stream"),
        ("arrays.w.chunks.0.start", -1, "unreadable"),
        ("arrays.w.chunks.0.rank", 7, "outside the stream"),
        ("arrays.w.shape.0", 10**12, "hold 30 of"),
        ("arrays.w.dtype", "object", "unknown type"),
        ("tree.w", {"$array": "elsewhere"}, "'elsewhere'"),
    ],
)
def test_a_manifest_that_points_outside_what_is_its_own_is_refused(
    content: Any, path: str, value: Any, word: str
) -> None:
    set_in(content, path, value)
    with pytest.raises(DataDamaged, match=r"here") as error:
        parse(json.dumps(content).encode(), run="run-1", step=1, where="here")
    assert word in str(error.value)


def test_arrays_that_share_bytes_to_look_larger_are_refused(content: Any) -> None:
    for index in range(40):
        content["arrays"][f"bomb{index}"] = content["arrays"]["w"]
    with pytest.raises(DataDamaged, match="bytes in streams of"):
        parse(json.dumps(content).encode(), run="run-1", step=1, where="here")


@pytest.mark.parametrize("data", [b"", b"null", b"[" * 100_000, b"\xff", b"{}"])
def test_what_is_no_manifest_is_damage(data: bytes) -> None:
    with pytest.raises(DataDamaged, match="unreadable"):
        parse(data, run="run-1", step=1, where="here")
