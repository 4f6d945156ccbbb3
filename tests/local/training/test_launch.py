"""Training jobs with real torchrun processes, published models and checkpoints."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from goldenpath import data
from goldenpath.errors import ConfigError, UserProgramFailed
from goldenpath.jobs import Place
from goldenpath.jobs.starts import list_starts
from goldenpath.jobs.supervisor import processes_of
from goldenpath.provenance import Code
from goldenpath.store import Store
from goldenpath.training import TrainingJob, TrainingResult, launch

pytestmark = pytest.mark.local

_PATIENCE_S = 200.0

TRAINER = """
import os, signal, sys, time
from pathlib import Path
import torch, torch.distributed as dist
import goldenpath

HERE = Path(os.environ["WATCHED"])

with goldenpath.training_run() as run:
    dist.init_process_group("gloo")
    if run.rank == 0:
        with (HERE / "starts.txt").open("a") as file:
            file.write(f"{os.getpid()}\\n")
    rows = (run.dataset("train") / "rows.csv").read_text().splitlines()
    weight = torch.zeros(1)
    checkpointer = run.checkpointer()
    restored = checkpointer.restore()
    first = 0
    if restored is not None:
        weight, first = restored.state["weight"], restored.step
        if run.rank == 0:
            (HERE / "resumed.txt").write_text(str(first))
    for step in range(first + 1, run.params["steps"] + 1):
        part = torch.tensor([float(len(rows[run.rank :: run.world_size]))])
        dist.all_reduce(part)
        weight += part
        run.progress(step=step, total=run.params["steps"], weight=weight.item())
        checkpointer.save(step, {"weight": weight}, metrics={"weight": weight.item()})
        checkpointer.wait()
        if step == run.params.get("wait_at"):
            (HERE / f"waiting-{run.rank}").write_text(str(os.getpid()))
            while not (HERE / "go").exists() and not run.should_stop:
                time.sleep(0.05)
            if not (HERE / "go").exists():
                (HERE / f"stopped-{run.rank}").touch()
                raise SystemExit(0)
    model = Path(os.environ["WATCHED"]) / "model"
    if run.rank == 0:
        model.mkdir(exist_ok=True)
        (model / "weight.txt").write_text(str(weight.item()))
    run.publish_model(model, metrics={"weight": weight.item()})
"""


@pytest.fixture
def place(file_store: Store, tmp_path: Path) -> Place:
    return Place(
        run="r1",
        step="train",
        store=file_store,
        work_dir=tmp_path / "work",
        cache_dir=tmp_path / "cache",
        tracking="",
    )


def _snapshot(store: Store, name: str, **files: str) -> str:
    folder = Path(name)
    folder.mkdir()
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(text)
    return data.snapshot(
        str(folder),
        name,
        store=store,
        options=data.SnapshotOptions(),
        lineage=data.Lineage(run="r1", step="snapshot", code=Code()),
    ).ref


def _job(**values: Any) -> TrainingJob:
    return TrainingJob(
        **{
            "entry_point": "train.py",
            "processes_per_node": 2,
            "params": {"steps": 4},
            "env": {"WATCHED": str(Path.cwd())},
            "grace_s": 20,
            **values,
        }
    )


def _plain(**values: Any) -> TrainingJob:
    return _job(runtime="plain", processes_per_node=1, **values)


def _train(job: TrainingJob, place: Place, *, program: str = TRAINER) -> TrainingResult:
    source = _snapshot(place.store, "source", train_py=textwrap.dedent(program))
    rows = _snapshot(place.store, "rows", rows_csv="a\nb\nc\n")
    return launch(job, model="m", datasets={"train": rows}, source=source, place=place)


def _until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)


_LAUNCHER = """
import sys
from pathlib import Path
from goldenpath.jobs import Place
from goldenpath.store import open_store
from goldenpath.training import TrainingJob, launch

store, work, cache = open_store(sys.argv[1]), Path(sys.argv[2], "work"), Path(sys.argv[2], "cache")
place = Place(run="r1", step="train", store=store, work_dir=work, cache_dir=cache, tracking="")
job = TrainingJob.model_validate_json(sys.argv[3])
launch(job, model="m", datasets={"train": sys.argv[5]}, source=sys.argv[4], place=place)
"""


def test_two_ranks_train_from_a_snapshot_and_publish_one_model(place: Place, notes: list[str]) -> None:
    result = _train(_job(accelerators_per_node=2), place)
    assert result.state == "succeeded"
    assert result.model.startswith(f"{place.store.url}/models/m@sha256:")
    assert result.metrics == {"weight": 12.0}
    assert "/checkpoints/r1:4@sha256:" in result.checkpoint
    assert (result.attempts, result.restarts, result.evictions, result.cost) == (1, 0, 0, None)
    assert result.accelerator_hours == pytest.approx(2 * result.running_s / 3600)
    assert sum(astuple(result.goodput)) == pytest.approx(result.running_s)
    assert result.goodput.saving_s > 0
    assert any(note.startswith("step 4/4 weight=12") for note in notes)


def test_a_killed_rank_is_restarted_from_the_last_checkpoint(place: Place) -> None:
    program = TRAINER.replace(
        "        if step == run.params",
        "        if step == 3 and run.rank == 1 and restored is None:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        if step == run.params",
    )
    result = _train(_job(max_restarts=1), place, program=program)
    assert (result.attempts, result.restarts) == (2, 1)
    assert Path("resumed.txt").read_text() == "3"
    # Nothing was trained twice, and nothing left out.
    assert result.metrics == {"weight": 12.0}


def test_a_killed_rank_without_a_restart_left_is_told_by_rank_and_signal(place: Place) -> None:
    program = "import os, signal\nif os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
    with pytest.raises(UserProgramFailed, match=r"train\.py \(rank 1\) was killed by SIGKILL"):
        _train(_job(), place, program=program)


def test_a_failing_rank_is_told_in_its_own_words(place: Place) -> None:
    program = """
        import os
        import goldenpath
        with goldenpath.training_run() as run:
            if run.rank == 1:
                raise ValueError("the column 'label' is missing")
            while not run.should_stop:
                pass
    """
    with pytest.raises(UserProgramFailed) as failed:
        _train(_job(), place, program=program)
    text = str(failed.value)
    assert "train.py (rank 1) ended with exit code 1" in text
    assert "ValueError: the column 'label' is missing" in text
    assert "ChildFailedError" not in text


def test_a_launcher_killed_in_the_middle_is_followed_by_one_that_adopts(place: Place, tmp_path: Path) -> None:
    source = _snapshot(place.store, "source", train_py=TRAINER)
    rows = _snapshot(place.store, "rows", rows_csv="a\nb\nc\n")
    job = _job(params={"steps": 4, "wait_at": 2})
    first = subprocess.Popen(
        [sys.executable, "-c", _LAUNCHER, place.store.url, tmp_path, job.model_dump_json(), source, rows],
        start_new_session=True,
    )
    _until(lambda: Path("waiting-0").exists(), "training to come to its second step")
    first.kill()
    first.wait()
    Path("go").touch()
    result = launch(job, model="m", datasets={"train": rows}, source=source, place=place)
    assert result.attempts == 1
    assert result.metrics == {"weight": 12.0}
    assert len(Path("starts.txt").read_text().splitlines()) == 1


def test_ctrl_c_lets_every_rank_save_leaves_no_process_and_the_next_try_resumes(
    place: Place, tmp_path: Path
) -> None:
    source = _snapshot(place.store, "source", train_py=TRAINER)
    rows = _snapshot(place.store, "rows", rows_csv="a\nb\nc\n")
    job = _job(params={"steps": 4, "wait_at": 2})
    first = subprocess.Popen(
        [sys.executable, "-c", _LAUNCHER, place.store.url, tmp_path, job.model_dump_json(), source, rows],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    _until(lambda: Path("waiting-0").exists() and Path("waiting-1").exists(), "both ranks to wait")
    first.send_signal(signal.SIGINT)
    assert first.wait() == -signal.SIGINT
    (start,) = list_starts(place.work_dir)
    assert processes_of(start.attempt) == []
    assert Path("stopped-0").exists()
    assert Path("stopped-1").exists()
    Path("go").touch()
    result = launch(job, model="m", datasets={"train": rows}, source=source, place=place)
    assert result.metrics == {"weight": 12.0}
    assert Path("resumed.txt").read_text() == "2"


def test_a_program_that_publishes_nothing_is_told_how(place: Place) -> None:
    with pytest.raises(UserProgramFailed, match=r"left no model\. ?(.|\n)*publish_model"):
        _train(_plain(), place, program="import goldenpath\nwith goldenpath.training_run(): pass\n")


def test_a_plain_process_needs_no_torch(place: Place) -> None:
    program = """
        import sys
        sys.modules["torch"] = None  # As where it is not installed.
        from pathlib import Path
        import goldenpath
        with goldenpath.training_run() as run:
            assert not run.should_stop
            checkpointer = run.checkpointer()
            checkpointer.save(1, {"weight": 3})
            Path("model").mkdir()
            Path("model/weight.txt").write_text("3")
            run.publish_model("model", metrics={"loss": 0.5})
    """
    result = _train(_plain(), place, program=program)
    assert result.metrics == {"loss": 0.5}
    assert "/checkpoints/r1:1@sha256:" in result.checkpoint


def test_a_crash_after_publishing_costs_no_second_training(place: Place) -> None:
    program = """
        import os
        from pathlib import Path
        import goldenpath
        with goldenpath.training_run() as run:
            with open(os.environ["WATCHED"] + "/starts.txt", "a") as file:
                file.write("x\\n")
            Path("model").mkdir()
            Path("model/weight.txt").write_text("3")
            run.publish_model("model")
            raise RuntimeError("at the very end")
    """
    result = _train(_plain(max_restarts=1), place, program=program)
    assert result.attempts == 2
    assert Path("starts.txt").read_text() == "x\n"


def test_a_missing_entry_point_is_refused_with_the_nearest_file(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'train\.py'"):
        _train(_plain(entry_point="trian.py"), place)
    assert list_starts(place.work_dir) == []


def test_a_training_over_its_time_is_ended(place: Place) -> None:
    with pytest.raises(UserProgramFailed, match="longer than its 1 s"):
        _train(_plain(run_timeout_s=1.0), place, program="import time; time.sleep(600)")
    assert all(processes_of(start.attempt) == [] for start in list_starts(place.work_dir))


def test_a_run_on_the_tracking_server_gets_the_parameters_and_metrics(
    place: Place, mlflow_url: str, tmp_path: Path
) -> None:
    from mlflow import MlflowClient

    program = """
        from pathlib import Path
        import goldenpath
        with goldenpath.training_run() as run:
            run.progress(step=1, total=2, loss=0.5)
            run.progress(step=2, total=2, loss=0.25)
            Path("model").mkdir()
            Path("model/weight.txt").write_text("3")
            run.publish_model("model")
    """
    tracked = replace(place, tracking=mlflow_url)
    _train(_plain(), tracked, program=program)
    client = MlflowClient(tracking_uri=mlflow_url)
    experiment = client.get_experiment_by_name("m")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id], filter_string="tags.`goldenpath.run` = 'r1'")
    assert run.info.status == "FINISHED"
    assert run.data.params == {"steps": "4"}
    assert [m.value for m in client.get_metric_history(run.info.run_id, "loss")] == [0.5, 0.25]


def test_training_goes_on_where_the_tracking_server_is_away(place: Place, notes: list[str]) -> None:
    program = """
        from pathlib import Path
        import goldenpath
        with goldenpath.training_run() as run:
            Path("model").mkdir()
            Path("model/weight.txt").write_text("3")
            run.publish_model("model")
    """
    away = replace(place, tracking="http://127.0.0.1:9")
    assert _train(_plain(), away, program=program).state == "succeeded"
    assert sum("training goes on without it" in note for note in notes) == 1


def test_everything_goes_through_s3_where_the_store_is_there(place: Place, s3_store: Store) -> None:
    program = """
        from pathlib import Path
        import goldenpath
        with goldenpath.training_run() as run:
            rows = (run.dataset("train") / "rows.csv").read_text().split()
            Path("model").mkdir()
            Path("model/weight.txt").write_text(str(len(rows)))
            run.publish_model("model", metrics={"rows": len(rows)})
    """
    on_s3 = replace(place, store=s3_store)
    first = _train(_plain(), on_s3, program=program)
    assert first.model.startswith(f"{s3_store.url}/models/m@sha256:")
    assert first.metrics == {"rows": 3.0}
    log = s3_store.get(first.logs[0].removeprefix(s3_store.url + "/"))
    assert b"goldenpath: published" in log
