"""The run on the MLflow server that belongs to a training job. Training never depends on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from goldenpath import progress
from goldenpath.jobs import Place

_RUN_TAG = "goldenpath.run"
_STEP_TAG = "goldenpath.step"
_LONGEST_PARAM = 6000
_ANSWER_S = 10.0


def start_tracking(params: Mapping[str, Any], *, experiment: str, place: Place) -> str:
    """Creates or adopts the tracking run of a step and returns its id; empty where there can be none.

    Args:
        params: Kept as the run's parameters.
        experiment: The experiment's name.
        place: The step, with the tracking server's URI.
    """
    client = _client(place)
    if client is None:
        return ""
    from mlflow.entities import Param, RunTag
    from mlflow.exceptions import MlflowException

    try:
        found = client.get_experiment_by_name(experiment)
        number = found.experiment_id if found else client.create_experiment(experiment)
        mine = f"tags.`{_RUN_TAG}` = '{place.run}' and tags.`{_STEP_TAG}` = '{place.step}'"
        runs = client.search_runs([number], filter_string=mine, max_results=1)
        run = runs[0] if runs else client.create_run(number, run_name=f"{place.run}/{place.step}")
        client.update_run(run.info.run_id, status="RUNNING")
        client.log_batch(
            run.info.run_id,
            params=[Param(key, json.dumps(value)[:_LONGEST_PARAM]) for key, value in params.items()],
            tags=[RunTag(_RUN_TAG, place.run), RunTag(_STEP_TAG, place.step)],
        )
    except MlflowException as error:
        _tell_away(place, error)
        return ""
    return str(run.info.run_id)


def end_tracking(tracking_run: str, *, place: Place, status: Literal["FINISHED", "FAILED", "KILLED"]) -> None:
    """Marks the tracking run as over; the next attempt at the step takes it up again."""
    client = _client(place) if tracking_run else None
    if client is None:
        return
    from mlflow.exceptions import MlflowException

    try:
        client.set_terminated(tracking_run, status=status)
    except MlflowException as error:
        _tell_away(place, error)


def _client(place: Place) -> Any:
    if not place.tracking or not _answers(place):
        return None
    try:
        from mlflow import MlflowClient
    except ImportError:
        progress.note("MLflow is not installed: training goes on without tracking (goldenpath[mlflow]).")
        return None
    return MlflowClient(tracking_uri=place.tracking)


def _answers(place: Place) -> bool:
    """Whether the server is there. MLflow's own client would try for minutes before it gave up."""
    if not place.tracking.startswith(("http://", "https://")):
        return True
    import httpx

    try:
        httpx.get(f"{place.tracking.rstrip('/')}/health", timeout=_ANSWER_S)
    except httpx.HTTPError as error:
        _tell_away(place, error)
        return False
    return True


def _tell_away(place: Place, error: Exception) -> None:
    reason = str(error).partition("\n")[0]
    progress.note(f"Tracking at {place.tracking} is away; training goes on without it: {reason}")
