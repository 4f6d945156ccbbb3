"""The model server's translation between protocols and MLflow, with real KServe and MLflow."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.local

_MLMODEL = """\
flavors:
  python_function:
    loader_module: mlflow.pyfunc.loaders.code_model
    model_code_path: model.py
    code: null
    env: null
    streamable: false
mlflow_version: 3.0.0
saved_input_example_info: null
signature:
  inputs: '[{"type": "double", "name": "x"}, {"type": "string", "name": "kind"}]'
  outputs: null
  params: null
"""

_CODE = """\
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel


class Model(PythonModel):
    def predict(self, context, model_input, params=None):
        kind = model_input["kind"][0]
        if kind == "broken":
            raise KeyError("no such feature")
        doubled = model_input[["x"]] * 2
        return {"table": doubled, "dict": {"x": doubled["x"].to_numpy()}, "list": list(doubled["x"])}[kind]


set_model(Model())
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from goldenpath.serving.server import PyfuncModel

    folder: Path = tmp_path_factory.mktemp("model")
    (folder / "MLmodel").write_text(_MLMODEL)
    (folder / "model.py").write_text(_CODE)
    made = PyfuncModel("toy", folder)
    assert not made.ready
    made.load()
    assert made.ready
    return made


def ask(model: Any, payload: Any) -> Any:
    return asyncio.run(model.predict(payload))


def tensors(kind: str, *, shape: tuple[int, ...] = (2,)) -> Any:
    import kserve

    rows = shape[0]
    return kserve.InferRequest(
        model_name="toy",
        infer_inputs=[
            kserve.InferInput(
                name="x", shape=list(shape), datatype="FP64", data=[float(i) for i in range(rows)]
            ),
            kserve.InferInput(name="kind", shape=[rows], datatype="BYTES", data=[kind] * rows),
        ],
    )


@pytest.mark.parametrize(
    ("kind", "predictions"),
    [("list", [2.0, 4.0]), ("table", [{"x": 2.0}, {"x": 4.0}]), ("dict", {"x": [2.0, 4.0]})],
)
@pytest.mark.parametrize("form", ["dataframe_split", "dataframe_records", "instances"])
def test_v1_takes_every_form_of_mlflow(model: Any, form: str, kind: str, predictions: Any) -> None:
    rows = [{"x": 1.0, "kind": kind}, {"x": 2.0, "kind": kind}]
    split = {"columns": ["x", "kind"], "data": [[1.0, kind], [2.0, kind]]}
    assert ask(model, {form: split if form == "dataframe_split" else rows}) == {"predictions": predictions}


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
@pytest.mark.parametrize(("kind", "name"), [("list", "predictions"), ("table", "x"), ("dict", "x")])
def test_v2_takes_columns_as_tensors_and_answers_with_an_id(
    model: Any, kind: str, name: str, shape: tuple[int, ...]
) -> None:
    answer, _ = ask(model, tensors(kind, shape=shape)).to_rest()
    assert answer["id"]
    output = answer["outputs"][0]
    assert (output["name"], output["datatype"], output["data"]) == (name, "FP64", [0.0, 2.0])


@pytest.mark.parametrize(
    "payload",
    [
        [1.0],
        {"x": 1.0},
        {"instances": [{"y": 1.0}]},
        {"dataframe_split": {"columns": ["x"], "data": [[1.0]]}},
    ],
)
def test_what_does_not_fit_the_model_is_the_clients_fault(model: Any, payload: Any) -> None:
    from kserve.errors import InvalidInput

    with pytest.raises(InvalidInput):
        ask(model, payload)


def test_a_model_that_raises_is_not_the_clients_fault(model: Any) -> None:
    with pytest.raises(KeyError, match="no such feature"):
        ask(model, {"instances": [{"x": 1.0, "kind": "broken"}]})
