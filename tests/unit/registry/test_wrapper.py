"""MLflow's wrapper file, settled: equal models have equal files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from goldenpath import registry
from goldenpath.errors import InputError
from goldenpath.registry.wrapper import settled_wrapper


def wrapper(*, machine: str, identity: str) -> dict[str, Any]:
    """What MLflow writes, as far as it matters."""
    return {
        "flavors": {
            "python_function": {
                "artifacts": {"weights": {"path": "artifacts/w.npz", "uri": f"{machine}/tmp/w.npz"}},
                "model_code_path": f"{machine}/project/model.py",
                "python_version": "3.11.7",
            },
            "sklearn": {"pickled_model": "model.pkl"},
        },
        "model_uuid": identity,
        "run_id": identity,
        "utc_time_created": identity,
        "signature": {"inputs": "[]"},
    }


def test_the_same_model_saved_twice_is_the_same_file(tmp_path: Path) -> None:
    texts = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "MLmodel").write_text(
            yaml.safe_dump(wrapper(machine=f"/home/{number}", identity=f"id-{number}"), sort_keys=number == 1)
        )
        registry.settle_wrapper(folder)
        texts.append((folder / "MLmodel").read_text())
    assert texts[0] == texts[1]
    assert "/home" not in texts[0]


def test_what_a_loader_needs_stays() -> None:
    settled = settled_wrapper(wrapper(machine="/home/a", identity="x"))
    assert settled["flavors"]["python_function"] == {
        "artifacts": {"weights": {"path": "artifacts/w.npz"}},
        "model_code_path": "model.py",
        "python_version": "3.11.7",
    }
    assert settled["flavors"]["sklearn"] == {"pickled_model": "model.pkl"}
    assert settled["signature"] == {"inputs": "[]"}


def test_a_folder_without_a_wrapper_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(b"w")
    registry.settle_wrapper(folder)
    assert [path.name for path in folder.iterdir()] == ["weights.bin"]


@pytest.mark.parametrize("content", [b"- a\n", b"{", b"\xff\xfe"])
def test_a_damaged_wrapper_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "MLmodel").write_bytes(content)
    with pytest.raises(InputError, match="MLmodel"):
        registry.settle_wrapper(tmp_path)
