from typing import Any

import pytest

from goldenpath.errors import ConfigError
from goldenpath.training import TrainingJob
from goldenpath.validation import validated


def _job(**values: Any) -> TrainingJob:
    return validated(TrainingJob, {"entry_point": "train.py", **values}, where="training")


def test_an_entry_point_is_enough() -> None:
    job = _job()
    assert (job.nodes, job.processes_per_node, job.queue, job.runtime) == (1, 1, None, "torch-distributed")


def test_accelerators_are_those_of_all_nodes() -> None:
    assert _job(nodes=3, accelerators_per_node=8).accelerators == 24


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"entry_point": "/etc/train.py"}, "inside the source"),
        ({"entry_point": "../train.py"}, "inside the source"),
        ({"entry_point": "train.sh -x"}, r"\.py file or a module"),
        ({"nodes": 0}, "nodes"),
        ({"nods": 2}, "did you mean 'nodes'"),
        ({"queue": "default"}, "captures jobs"),
        ({"queue": "Team A"}, "a-z, 0-9"),
        ({"priority": "High!"}, "a-z, 0-9"),
        ({"backend": "slurm"}, "backends are local"),
        ({"runtime": "plain", "processes_per_node": 2}, "one process, not 2"),
        ({"env": {"PET_NNODES": "2"}}, "reserved"),
        ({"env": {"GOLDENPATH_STORE": "x"}}, "reserved"),
        ({"env": {"1X": "x"}}, "no name of a variable"),
        ({"env": {"WANDB_API_KEY": "x"}}, "credential"),
        ({"env": {"hf_token": "x"}}, "credential"),
        ({"env": {"DATABASE_URL": "postgresql://ada:pw@host/db"}}, r"credentials in it would be kept"),
        ({"checkpoint": {"every_step": 5}}, "every_steps"),
        ({"run_timeout_s": 0}, "greater than 0"),
        ({"params": {"when": object()}}, "params"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        _job(**values)


@pytest.mark.parametrize("env", [{"HF_TOKEN": "hunter2"}, {"DATABASE_URL": "mysql://ada:hunter2@host/db"}])
def test_a_refused_credential_is_not_shown(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(env))) as caught:
        _job(env=env)
    assert "hunter2" not in str(caught.value)


def test_a_variable_that_only_sounds_like_a_credential_is_free() -> None:
    assert _job(env={"TOKENIZERS_PARALLELISM": "false"}).env == {"TOKENIZERS_PARALLELISM": "false"}
