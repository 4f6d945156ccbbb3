from pathlib import Path

import pytest

from goldenpath.errors import ConfigError
from goldenpath.jobs import JobContract, JobSpec, Place, run_job
from goldenpath.store import Store


def _spec(store: Store) -> JobSpec:
    contract = JobContract(run="r1", step="s", store=store.url, cache_dir="/cache")
    return JobSpec(contract=contract, entry_point="job.py")


def _place(store: Store, folder: Path) -> Place:
    return Place(run="r1", step="s", store=store, work_dir=folder, cache_dir=folder, tracking="")


def test_an_unknown_backend_is_refused_with_the_nearest(file_store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'local'"):
        run_job(_spec(file_store), backend="locla", place=_place(file_store, tmp_path))


def test_a_store_in_memory_is_refused_for_a_job_cannot_see_it(memory_store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="process of its own"):
        run_job(_spec(memory_store), backend="local", place=_place(memory_store, tmp_path))
