from typing import Any

import pytest

from goldenpath.errors import ConfigError, DataDamaged, InputError
from goldenpath.jobs import JobContract, from_environment, read_output, write_output
from goldenpath.store import Store

_CONTRACT = JobContract(
    run="r1",
    step="train",
    store="file:///lake",
    cache_dir="/cache",
    attempt="0123abcd",
    model_name="digits",
    datasets={"train": "file:///lake/datasets/digits:1"},
    params={"epochs": 3, "deep": {"rate": 0.5}},
    checkpoint={"every_steps": 5},
    tracking="http://localhost:5000",
    tracking_run="abc",
    grace_s=45,
)


def test_the_environment_carries_the_whole_contract() -> None:
    assert from_environment(_CONTRACT.environment()) == _CONTRACT


def test_the_output_is_the_steps_folder_in_the_store() -> None:
    environment = _CONTRACT.environment()
    assert environment["GOLDENPATH_JOB_OUTPUT"] == "file:///lake/runs/r1/steps/train/output"
    assert environment["GOLDENPATH_STORE"] == "file:///lake"


def test_what_is_empty_is_not_set() -> None:
    bare = JobContract(run="r1", step="s", store="file:///lake", cache_dir="/cache")
    assert "GOLDENPATH_JOB_MODEL_NAME" not in bare.environment()
    assert "MLFLOW_RUN_ID" not in bare.environment()
    assert from_environment(bare.environment()) == bare


def test_outside_a_job_the_error_tells_how_to_get_into_one() -> None:
    with pytest.raises(ConfigError, match="goldenpath run"):
        from_environment({})


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("GOLDENPATH_JOB_SPEC", "{", "SPEC"),
        ("GOLDENPATH_JOB_SPEC", '{"datasetz": {}}', "SPEC"),
        ("GOLDENPATH_JOB_GRACE_S", "soon", "GRACE_S"),
        ("GOLDENPATH_JOB_OUTPUT", "file:///elsewhere", "OUTPUT"),
        ("GOLDENPATH_JOB_CACHE", "", "CACHE"),
    ],
)
def test_a_damaged_variable_is_named(variable: str, value: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        from_environment({**_CONTRACT.environment(), variable: value})


def test_parameters_that_json_cannot_carry_are_refused() -> None:
    with pytest.raises(InputError):
        JobContract(
            run="r1", step="s", store="file:///lake", cache_dir="/c", params={"x": float("nan")}
        ).environment()


def _contract_of(store: Store) -> JobContract:
    return JobContract(run="r1", step="train", store=store.url, cache_dir="/cache")


def _read(store: Store, name: str) -> Any:
    return read_output(store, run="r1", step="train", name=name)


def test_the_first_output_holds_and_later_writers_are_told_so(file_store: Store) -> None:
    contract = _contract_of(file_store)
    assert write_output(contract, "model", {"ref": "a"}) == {"ref": "a"}
    assert write_output(contract, "model", {"ref": "b"}) == {"ref": "a"}
    assert _read(file_store, "model") == {"ref": "a"}


def test_an_output_that_was_not_written_is_none(file_store: Store) -> None:
    assert _read(file_store, "model") is None


def test_a_damaged_output_is_told(file_store: Store) -> None:
    file_store.put("runs/r1/steps/train/output/model.json", b"{")
    with pytest.raises(DataDamaged, match=r"model\.json"):
        _read(file_store, "model")
