"""The model server: KServe's, with an MLflow pyfunc behind it.

Answers V1 (``/v1/models/<name>:predict``, whose body may be any of MLflow's own forms: ``instances``,
``inputs``, ``dataframe_split``, ``dataframe_records``), V2 (``/v2/models/<name>/infer``) and
``/metrics``. Who starts it has verified the folder's digests: loading a pyfunc runs its code.

    python -m goldenpath.serving.server --folder MODEL --name NAME [--host 127.0.0.1] [--port 8080]
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import uuid
from pathlib import Path
from typing import Any

import kserve
import numpy as np
import pandas as pd
from kserve.constants.constants import FASTAPI_APP_IMPORT_STRING
from kserve.errors import InferenceError, InvalidInput
from kserve.protocol.rest.server import RESTServer
from kserve.utils.numpy_codec import from_np_dtype
from mlflow import pyfunc
from mlflow.exceptions import MlflowException
from mlflow.pyfunc.scoring_server import infer_and_parse_data

KEEP_ALIVE_S = 65
"""Seconds that an idle connection stays open; a proxy in front must let go of it earlier."""
GRACE_S = 20
"""Seconds that open requests get after SIGTERM."""


class PyfuncModel(kserve.Model):  # type: ignore[misc]
    """A pyfunc as a KServe model. Predictions run on threads, so that health checks always answer."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self.folder = folder
        self.model: Any = None

    def load(self) -> bool:
        """Loads the folder; KServe calls it ready from then on."""
        self.model = pyfunc.load_model(str(self.folder))
        self.ready = True
        return True

    async def predict(
        self,
        payload: dict[str, Any] | kserve.InferRequest,
        headers: dict[str, str] | None = None,
        response_headers: dict[str, str] | None = None,
    ) -> dict[str, Any] | kserve.InferResponse:
        """Answers one request of either protocol.

        Raises:
            InvalidInput: The payload does not fit the model: the client's fault (400).
            InferenceError: The model failed (500).
        """
        del headers, response_headers
        second = isinstance(payload, kserve.InferRequest)
        data = self._from_tensors(payload) if second else self._from_json(payload)
        result = await asyncio.to_thread(self._call, data)
        return self._to_tensors(payload, result) if second else {"predictions": _listed(result)}

    def _call(self, data: Any) -> Any:
        try:
            return self.model.predict(data)
        except MlflowException as error:
            # MLflow's schema enforcement: the client sent other columns or types than the signature's.
            if error.error_code in ("INVALID_PARAMETER_VALUE", "BAD_REQUEST"):
                raise InvalidInput(str(error)) from error
            raise InferenceError(str(error)) from error

    def _from_json(self, payload: Any) -> Any:
        if not isinstance(payload, dict):
            raise InvalidInput(f"the body must be a JSON object, not {type(payload).__name__}")
        try:
            return infer_and_parse_data(payload, self.model.metadata.get_input_schema())
        except MlflowException as error:
            raise InvalidInput(str(error)) from error

    def _from_tensors(self, request: kserve.InferRequest) -> Any:
        schema = self.model.metadata.get_input_schema()
        if schema is not None and not schema.is_tensor_spec() and schema.has_input_names():
            return pd.DataFrame({tensor.name: _column(tensor.as_numpy()) for tensor in request.inputs})
        arrays = {tensor.name: tensor.as_numpy() for tensor in request.inputs}
        named = schema is not None and schema.has_input_names()
        return arrays if named or len(arrays) > 1 else next(iter(arrays.values()))

    def _to_tensors(self, request: kserve.InferRequest, result: Any) -> kserve.InferResponse:
        if isinstance(result, pd.DataFrame):
            columns = {str(name): result[name].to_numpy() for name in result.columns}
        elif isinstance(result, dict):
            columns = {name: np.asarray(values) for name, values in result.items()}
        else:
            columns = {"predictions": np.asarray(result)}
        return kserve.InferResponse(
            # The id is optional in a request, not in an answer.
            response_id=request.id or str(uuid.uuid4()),
            model_name=self.name,
            infer_outputs=[_tensor(name, values) for name, values in columns.items()],
        )


def _column(values: np.ndarray[Any, Any]) -> Any:
    """A column of a table: clients send it as [rows] or [rows, 1]; more to a row stays an array each."""
    return values.ravel() if values.ndim == 1 or values.shape[1:] == (1,) else list(values)


def _tensor(name: str, values: np.ndarray[Any, Any]) -> kserve.InferOutput:
    datatype = from_np_dtype(values.dtype) or "BYTES"
    data = values if datatype != "BYTES" else values.astype(str)
    return kserve.InferOutput(
        name=name, shape=list(values.shape), datatype=datatype, data=data.flatten().tolist()
    )


def _listed(result: Any) -> Any:
    if isinstance(result, pd.DataFrame):
        return result.to_dict(orient="records")
    if isinstance(result, np.ndarray | pd.Series):
        return result.tolist()
    if isinstance(result, dict):
        return {name: _listed(values) for name, values in result.items()}
    return result


def serve(*, folder: Path, name: str, listener: socket.socket) -> None:
    """Serves a model folder on a bound socket until SIGTERM.

    KServe's own ``start`` binds every interface; its REST server takes sockets, as it does for its
    worker processes, and that keeps a server on this machine to this machine.
    """
    model = PyfuncModel(name, folder)
    model.load()
    server = kserve.ModelServer(enable_grpc=False, enable_latency_logging=False)
    server.register_model(model)
    rest = RESTServer(
        FASTAPI_APP_IMPORT_STRING,
        server.dataplane,
        server.model_repository_extension,
        listener.getsockname()[1],
        grace_period=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    rest.run(sockets=[listener])


def main() -> None:
    """The process's entry point."""
    parser = argparse.ArgumentParser(description="Serve an MLflow pyfunc folder with KServe.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--fd", type=int, help="an inherited, bound socket instead of host and port")
    given = parser.parse_args()
    if given.fd is not None:
        listener = socket.socket(fileno=given.fd)
    else:
        listener = socket.create_server((given.host, given.port))
    serve(folder=given.folder, name=given.name, listener=listener)


if __name__ == "__main__":
    main()
