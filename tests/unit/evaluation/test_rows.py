"""The rows format: what is read, and how each fault is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldenpath.errors import InputError
from goldenpath.evaluation.parquet import as_table, parse_rows, read_rows, write_rows
from goldenpath.evaluation.rows import Categories, Rows, from_table


def columns(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": ["a", "b", "c", "d"],
        "label": ["cat", "dog", "cat", "dog"],
        "prediction": ["cat", "cat", "cat", "dog"],
        "score": [0.1, 0.4, 0.2, 0.9],
        "slice_country": ["DE", "FR", "DE", "FR"],
    }
    found.update(changed)
    return {name: value for name, value in found.items() if value is not None}


def rows(**changed: Any) -> Rows:
    return from_table(pa.table(columns(**changed)), where="rows")


def test_classes_are_sorted_and_shared_by_label_and_prediction() -> None:
    found = rows(prediction=["cat", "ant", "cat", "dog"], score=None)
    assert found.classes == ("ant", "cat", "dog")
    assert isinstance(found.label, Categories)
    assert isinstance(found.prediction, Categories)
    assert found.label.codes.tolist() == [1, 2, 1, 2]
    assert found.prediction.codes.tolist() == [1, 0, 1, 2]
    assert found.slices["country"].values == ("DE", "FR")


def test_floating_point_labels_are_numbers() -> None:
    found = rows(label=[1.0, 2.0, 3.0, 4.0], prediction=[1, 2, 3, 5], score=None)
    assert found.classes == ()
    assert isinstance(found.prediction, np.ndarray)
    assert found.prediction.tolist() == [1, 2, 3, 5]


def test_a_score_list_of_whole_number_classes_names_classes_that_no_row_has() -> None:
    found = rows(label=[0, 2, 0, 2], prediction=[0, 2, 2, 2], score=[[0.7, 0.1, 0.2]] * 4)
    assert found.classes == (0, 1, 2)
    assert found.score is not None
    assert found.score.shape == (4, 3)


def test_a_dictionary_column_is_read_as_its_values() -> None:
    table = pa.table(columns()).set_column(1, "label", pa.array(columns()["label"]).dictionary_encode())
    assert from_table(table, where="rows").classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": ["a", "b", "a", "d"]}, "1 ids are there more than once: 'a'"),
        ({"id": [1.5, 2.0, 3.0, 4.0]}, "'id' is double"),
        ({"id": ["a", None, "c", "d"]}, "'id' is missing, NaN or infinite in 1 of 4 rows"),
        ({"label": None}, "no column 'label'"),
        ({"label": None, "lable": ["cat"] * 4}, "Rename 'lable'"),
        ({"labels": ["cat"] * 4}, r"'labels' is unknown. Did you mean 'label'\?"),
        ({"colour": ["x"] * 4}, r"'colour' is unknown. Columns are id, label"),
        ({"prediction": ["cat", None, "cat", "dog"]}, "'prediction' is missing.*in 1 of 4 rows: id 'b'"),
        ({"prediction": [1, 0, 1, 1]}, "'label' is large_string and 'prediction' is int64"),
        ({"label": [0.0, 1.0, 0.0, 1.0]}, "'prediction' is large_string, the other floating-point"),
        (
            {"score": [0.1, float("nan"), 0.2, float("inf")]},
            "'score' is missing.*in 2 of 4 rows: id 'b', 'd'",
        ),
        ({"score": ["x"] * 4}, "'score' is string"),
        ({"score": [[0.5, 0.5], [1.0], [0.5, 0.5], [0.5, 0.5]]}, "not 2 numbers.*id 'b'"),
        ({"score": [[1.0]] * 4}, "has 1 numbers"),
        ({"score": [[0.2, 0.3, 0.5]] * 4}, "has 3 numbers, but there are 2 classes"),
        ({"score": [[0.5, 0.5]] * 3 + [[0.5, float("nan")]]}, "a number in 'score' is missing.*id 'd'"),
        ({"prediction": ["cat", "ant", "cat", "dog"]}, "one number a row, but there are 3 classes"),
        ({"label": [1.0] * 4, "prediction": [1.0] * 4}, "'score', but floating-point labels"),
        ({"weight": [1.0, 0.0, 1.0, -1.0]}, "'weight' is not over 0 in 2 of 4 rows: id 'b', 'd'"),
        ({"weight": ["1"] * 4}, "'weight' is string, not a number"),
        ({"slice_country": [0.5] * 4}, "'slice_country' is double"),
        ({"slice_": ["x"] * 4}, "'slice_' is unknown"),
    ],
)
def test_a_fault_names_the_column_and_the_rows(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rows(**changed)


def test_a_column_that_is_there_twice_is_refused() -> None:
    table = pa.table([pa.array(["a"])] * 4, names=["id", "label", "prediction", "label"])
    with pytest.raises(InputError, match="'label' 2 times"):
        from_table(table, where="rows")


def test_no_rows_are_refused() -> None:
    with pytest.raises(InputError, match="has no rows"):
        from_table(pa.table(columns()).slice(0, 0), where="rows")


@pytest.mark.parametrize("kind", ["pandas", "arrow", "dicts", "numpy dicts"])
def test_rows_come_as_a_frame_a_table_or_dicts(kind: str) -> None:
    frame = pd.DataFrame(columns())
    given = {
        "pandas": frame.set_index(pd.Index([7, 7, 7, 7])),
        "arrow": pa.table(columns()),
        "dicts": frame.to_dict("records"),
        "numpy dicts": [{**row, "score": np.float64(row["score"])} for row in frame.to_dict("records")],
    }[kind]
    assert as_table(given, where="rows").to_pydict() == columns()


@pytest.mark.parametrize("given", [[], 3, "rows", [1, 2], None, [{"id": 1}, {"id": "x"}]])
def test_other_rows_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match="rows"):
        as_table(given, where="my:evaluator")


def test_the_same_rows_are_the_same_bytes_and_come_back() -> None:
    once = write_rows(as_table(pd.DataFrame(columns()), where="rows"))
    again = write_rows(pa.concat_tables([pa.table(columns()).slice(0, 1), pa.table(columns()).slice(1)]))
    assert once == again
    back = parse_rows(once, where="rows")
    assert back.ids.to_pylist() == columns()["id"]
    assert back.score is not None
    assert back.score.tolist() == columns()["score"]


def test_files_are_read_and_their_faults_told(tmp_path: Path) -> None:
    pq.write_table(pa.table(columns()), tmp_path / "rows.parquet")
    assert read_rows(tmp_path / "rows.parquet").n == 4
    (tmp_path / "text.parquet").write_text("id,label\n")
    with pytest.raises(InputError, match="no readable parquet"):
        read_rows(tmp_path / "text.parquet")
    with pytest.raises(InputError, match="no file"):
        read_rows(tmp_path / "absent.parquet")
    with pytest.raises(InputError, match="no readable parquet"):
        parse_rows(b"PAR1 damaged", where="rows")
