import sys
from dataclasses import replace
from pathlib import Path

import pytest

from goldenpath.errors import ConfigError
from goldenpath.jobs import JobContract, JobSpec
from goldenpath.jobs.program import check_entry_point, command, environment

_SPEC = JobSpec(
    contract=JobContract(run="r1", step="train", store="file:///lake", cache_dir="/cache", grace_s=7),
    entry_point="train.py",
    args=("--fast",),
)


def test_a_plain_program_is_one_python_process() -> None:
    assert command(_SPEC, log_dir=Path("/logs")) == [sys.executable, "train.py", "--fast"]
    assert command(replace(_SPEC, entry_point="team.train"), log_dir=Path("/logs"))[1:] == [
        "-m",
        "team.train",
        "--fast",
    ]


def test_torchrun_starts_the_processes_of_all_nodes_and_restarts_none() -> None:
    spec = replace(_SPEC, torchrun=True, nodes=2, processes_per_node=3)
    argv = command(spec, log_dir=Path("/logs"))
    assert argv[:3] == [sys.executable, "-m", "torch.distributed.run"]
    assert argv[-2:] == ["train.py", "--fast"]
    assert {"--nproc-per-node=6", "--max-restarts=0", "--shutdown-timeout=7", "--standalone"} <= set(argv)


def test_the_launchers_own_identity_does_not_reach_the_job() -> None:
    inherited = {
        "HOME": "/home/ada",
        "PYTHONPATH": "/lib",
        "RANK": "3",
        "PET_NNODES": "2",
        "GOLDENPATH_RUN": "outer",
        "GOLDENPATH_RUN_CODE": "{}",
        "GOLDENPATH_JOB_RUN": "outer",
        "MLFLOW_RUN_ID": "outer",
    }
    found = environment(
        replace(_SPEC, env={"MODE": "x"}),
        attempt_environment={"GOLDENPATH_JOB_RUN": "r1"},
        inherited=inherited,
        cwd=Path("/source"),
    )
    assert found["HOME"] == "/home/ada"
    assert found["PYTHONPATH"] == "/source:/lib"
    assert found["MODE"] == "x"
    assert found["GOLDENPATH_JOB_RUN"] == "r1"
    assert not {"RANK", "PET_NNODES", "GOLDENPATH_RUN", "GOLDENPATH_RUN_CODE", "MLFLOW_RUN_ID"} & set(found)


def test_an_entry_point_that_is_there_passes(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "train.py").write_text("")
    check_entry_point("team/train.py", tmp_path)
    check_entry_point("team.train", tmp_path)
    check_entry_point("json.tool", tmp_path)


@pytest.mark.parametrize(
    ("entry_point", "hint"),
    [
        ("trian.py", r"'train\.py'"),
        ("evaluate.py", r"'jobs/evaluate\.py'"),
        ("jobs.evaluat", r"'jobs\.evaluate'"),
        ("zzz.py", "relative to the source"),
    ],
)
def test_one_that_is_not_is_refused_with_the_nearest(tmp_path: Path, entry_point: str, hint: str) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "evaluate.py").write_text("")
    with pytest.raises(ConfigError, match=hint):
        check_entry_point(entry_point, tmp_path)


def test_the_digest_covers_what_the_job_does_and_not_when() -> None:
    assert replace(_SPEC, args=()).digest != _SPEC.digest
    assert replace(_SPEC, contract=replace(_SPEC.contract, params={"a": 1})).digest != _SPEC.digest
    later = replace(_SPEC.contract, attempt="0123abcd", tracking="http://t", tracking_run="x", grace_s=99)
    assert replace(_SPEC, contract=later, run_timeout_s=5.0, max_restarts=3).digest == _SPEC.digest
