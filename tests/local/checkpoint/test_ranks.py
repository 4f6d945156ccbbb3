"""Several real ranks under torchrun, over a folder and over a real S3 server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from goldenpath.checkpoint import Checkpointer
from goldenpath.store import open_store
from goldenpath.testing.services import S3Service

pytestmark = [pytest.mark.local, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).parent / "programs" / "ranks.py"
TOGETHER = (
    "replicated",
    "sharded",
    "one_rank_cannot_upload",
    "one_rank_cannot_serialise",
    "one_rank_sees_damage",
    "one_rank_is_busy",
    "values_differ",
    "clock",
    "without_torch_group",
)

Seen = dict[str, list[dict[str, Any]]]


def launch(store: str, folder: Path, ranks: int, scenarios: tuple[str, ...], env: dict[str, str]) -> Seen:
    """Runs scenarios on some ranks; what each rank saw, by scenario."""
    folder.mkdir(exist_ok=True)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--max-restarts", "0",
        "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0",
        str(PROGRAM), store, str(folder), *scenarios,
    ]  # fmt: skip
    done = subprocess.run(
        command,
        env={**os.environ, **env, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "[rank" in line)
    return {
        name: [json.loads((folder / f"{name}-{r}-of-{ranks}.json").read_text()) for r in range(ranks)]
        for name in scenarios
    }


@pytest.fixture(scope="module", params=["file", "s3"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """All scenarios of two ranks, in one launch a store."""
    folder = tmp_path_factory.mktemp("ranks")
    if request.param == "file":
        return launch((folder / "store").as_uri(), folder / "seen", 2, TOGETHER, {})
    service: S3Service = request.getfixturevalue("_seaweedfs")
    return launch(service.url("checkpoint-ranks"), folder / "seen", 2, TOGETHER, dict(service.environment))


def test_what_all_ranks_have_is_written_once_and_evenly(seen: Seen) -> None:
    for rank, found in enumerate(seen["replicated"]):
        assert found["equal"]
        assert found["epoch"] == 1
        assert found["left_out"] == []
        assert found["own"] == [rank, [float(rank)] * 3]
        state = 4 * 40 * 10 * 4 + 14 + 2 * 12
        assert state <= sum(found["part_sizes"]) < state + 1024
        assert abs(found["part_sizes"][0] - found["part_sizes"][1]) < 256


def test_shards_are_written_by_their_ranks_and_read_into_another_sharding(seen: Seen) -> None:
    for found in seen["sharded"]:
        assert found["in_place"]
        assert found["resharded"]
        assert found["replicated"]
        assert found["whole"]
        assert found["writers"] == [0, 1]


def test_a_rank_that_cannot_upload_strands_nobody(seen: Seen) -> None:
    for found in seen["one_rank_cannot_upload"]:
        assert "Rank 1 failed: The store did not answer" in found["error"]
        assert found["after_failure"] == []
        assert found["step"] == 2
        assert found["stats"] == [1, 1]


def test_a_rank_that_cannot_serialise_strands_nobody(seen: Seen) -> None:
    first, second = seen["one_rank_cannot_serialise"]
    assert "Rank 1 failed" in first["error"]
    assert "'bad' is a builtins.object" in first["error"]
    assert "'bad' is a builtins.object" in second["error"]
    assert first["steps"] == second["steps"] == []


def test_all_ranks_fall_back_where_one_sees_damage(seen: Seen) -> None:
    for found in seen["one_rank_sees_damage"]:
        assert found["step"] == 1
        assert found["equal"]
    assert any("falls back" in note for note in seen["one_rank_sees_damage"][0]["notes"])


def test_all_ranks_skip_where_one_is_busy(seen: Seen) -> None:
    first, second = seen["one_rank_is_busy"]
    assert not second["accepted"]
    assert first["last"]
    assert second["last"]
    assert first["steps"] == second["steps"] == [1, 2, 4]


def test_values_that_differ_between_ranks_are_told_by_key(seen: Seen) -> None:
    assert [found["loss"] for found in seen["values_differ"]] == [0.0, 0.0]
    assert any("rank 1 has other values than rank 0 in loss" in n for n in seen["values_differ"][0]["notes"])


def test_the_clock_of_rank_0_decides_for_all(seen: Seen) -> None:
    assert [found["due"] for found in seen["clock"]] == [True, True]


def test_ranks_without_a_torch_group_agree_through_the_store(seen: Seen) -> None:
    for rank, found in enumerate(seen["without_torch_group"]):
        assert found["step"] == 1
        assert found["own"] == rank


def test_saved_on_four_ranks_loaded_on_two_eight_and_one(tmp_path: Path) -> None:
    store = (tmp_path / "store").as_uri()
    launch(store, tmp_path / "seen", 4, ("save_shards",), {})
    for ranks in (2, 8):
        for found in launch(store, tmp_path / "seen", ranks, ("load_shards",), {})["load_shards"]:
            assert found["rows"]
            assert found["columns"]
            assert found["same"] == [0, 1, 2, 3, 4]
            assert found["left_out"] == ["rng"]
    with Checkpointer(store=open_store(store), run="shards", attempt="0000ffff") as alone:
        found_alone = alone.restore()
    assert found_alone is not None
    assert found_alone.state["rows"].flatten().tolist() == list(map(float, range(13 * 9)))
    assert "rng" not in found_alone.state
