import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import goldenpath
from goldenpath import data, registry
from goldenpath.errors import ConfigError
from goldenpath.jobs import JobContract, read_output
from goldenpath.provenance import Code
from goldenpath.store import Store

Enter = Callable[..., JobContract]


@pytest.fixture
def enter(file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Puts this process into a job, as a backend does."""

    def enter(**values: object) -> JobContract:
        contract = JobContract(
            **{
                "run": "r1",
                "step": "train",
                "store": file_store.url,
                "cache_dir": str(tmp_path / "cache"),
                "attempt": "0123abcd",
                "model_name": "digits",
                **values,
            }  # type: ignore[arg-type]
        )
        for name, value in contract.environment().items():
            monkeypatch.setenv(name, value)
        return contract

    return enter


def test_outside_a_job_it_tells_how_to_get_into_one() -> None:
    with pytest.raises(ConfigError, match="goldenpath run"), goldenpath.training_run():
        pass


def test_a_job_without_an_attempt_is_refused(enter: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    enter()
    monkeypatch.delenv("GOLDENPATH_JOB_ATTEMPT")
    with pytest.raises(ConfigError, match="ATTEMPT"), goldenpath.training_run():
        pass


def test_a_plain_process_is_rank_0_of_1_with_its_parameters(enter: Enter) -> None:
    enter(params={"epochs": 3})
    with goldenpath.training_run() as run:
        assert (run.rank, run.world_size, run.local_rank) == (0, 1, 0)
        assert run.params == {"epochs": 3}
        assert run.name == "r1"


def test_a_dataset_is_fetched_once_and_verified(enter: Enter, file_store: Store, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.csv").write_text("1,2\n")
    ref = data.snapshot(
        str(tmp_path / "rows"),
        "digits",
        store=file_store,
        options=data.SnapshotOptions(),
        lineage=data.Lineage(run="r1", step="snapshot", code=Code()),
    ).ref
    enter(datasets={"train": ref})
    with goldenpath.training_run() as run:
        folder = run.dataset("train")
        assert (folder / "a.csv").read_text() == "1,2\n"
        assert folder.is_relative_to(tmp_path / "cache")
        assert run.dataset("train") == folder


def test_a_dataset_that_the_job_was_not_given_is_refused_with_those_it_has(enter: Enter) -> None:
    enter(datasets={"train": "datasets/digits"})
    with goldenpath.training_run() as run, pytest.raises(ConfigError, match="It has: train"):
        run.dataset("test")


def test_a_model_is_published_by_digest_with_what_it_came_from(
    enter: Enter, file_store: Store, tmp_path: Path
) -> None:
    enter(params={"epochs": 3})
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(b"w")
    with goldenpath.training_run() as run:
        ref = run.publish_model(tmp_path / "model", metrics={"loss": 0.5, "bad": float("nan")})
    assert ref is not None
    assert ref.startswith(f"{file_store.url}/models/digits@sha256:")
    assert read_output(file_store, run="r1", step="train", name="model") == {
        "ref": ref,
        "metrics": {"loss": 0.5},
        "attempt": "0123abcd",
    }
    metadata = registry.read_manifest(ref, store=file_store).metadata
    assert metadata["run"] == "r1"
    assert metadata["params"] == {"epochs": 3}


def test_only_rank_0_publishes(
    enter: Enter, file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter()
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with goldenpath.training_run() as run:
        assert run.publish_model(tmp_path / "nowhere") is None
    assert read_output(file_store, run="r1", step="train", name="model") is None


def test_a_restart_that_finds_the_model_published_ends_with_0(enter: Enter, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(b"w")
    enter()
    with goldenpath.training_run() as run:
        run.publish_model(tmp_path / "model")
    enter(attempt="deadbeef")
    with pytest.raises(SystemExit) as end, goldenpath.training_run():
        pytest.fail("the loop must not run again")
    assert end.value.code == 0


def test_a_job_without_a_models_name_publishes_none(enter: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(model_name="")
    with goldenpath.training_run() as run, pytest.raises(ConfigError, match="not to publish"):
        run.publish_model("model")


def test_sigterm_is_a_question_and_is_given_back_at_the_end(enter: Enter) -> None:
    enter()
    before = signal.getsignal(signal.SIGTERM)
    with goldenpath.training_run() as run:
        assert not run.should_stop
        signal.raise_signal(signal.SIGTERM)
        assert run.should_stop
    assert signal.getsignal(signal.SIGTERM) is before


def test_progress_is_a_line_of_rank_0(enter: Enter, capsys: pytest.CaptureFixture[str]) -> None:
    enter()
    with goldenpath.training_run() as run:
        run.progress(step=1, total=3, loss=0.25)
        run.progress(step=2, total=3, loss=0.2)
        run.progress(step=3, total=3, loss=0.125)
    assert capsys.readouterr().out.splitlines() == [
        "goldenpath: step 1/3 loss=0.25",
        "goldenpath: step 3/3 loss=0.125",
    ]


def test_checkpoints_of_a_run_belong_to_one_step(enter: Enter) -> None:
    enter()
    with goldenpath.training_run() as run:
        assert run.checkpointer() is run.checkpointer()
    enter(step="train-again", attempt="deadbeef")
    with goldenpath.training_run() as run, pytest.raises(ConfigError, match="another step's"):
        run.checkpointer()


def test_the_times_of_a_start_are_kept_though_it_fails(enter: Enter, file_store: Store) -> None:
    enter()
    with pytest.raises(ZeroDivisionError), goldenpath.training_run():
        raise ZeroDivisionError
    told = read_output(file_store, run="r1", step="train", name="measured-0123abcd")
    assert set(told) == {"entered_at", "fetching_s", "saving_s", "loading_s"}
