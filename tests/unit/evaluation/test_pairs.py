"""Pairing by id, and each way that rows do not pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from goldenpath.evaluation.pairs import Pairs, pair
from goldenpath.evaluation.rows import Categories, Rows, from_table


def rows(**changed: Any) -> Rows:
    found: dict[str, Any] = {
        "id": [1, 2, 3],
        "label": ["x", "y", "x"],
        "prediction": ["x", "y", "y"],
        "slice_s": ["p", "q", "p"],
    }
    found.update(changed)
    return from_table(pa.table({k: v for k, v in found.items() if v is not None}), where="rows")


def test_rows_pair_in_any_order() -> None:
    other = rows(id=[3, 1, 2], label=["x", "x", "y"], prediction=["x", "y", "y"], slice_s=["p", "p", "q"])
    found = pair(rows(), other)
    assert isinstance(found, Pairs)
    assert found.champion.ids.to_pylist() == [1, 2, 3]
    assert isinstance(found.champion.prediction, Categories)
    assert [found.champion.classes[code] for code in found.champion.prediction.codes] == ["y", "y", "x"]


def test_classes_of_both_models_are_coded_alike() -> None:
    found = pair(rows(), rows(prediction=["a", "y", "x"]))
    assert isinstance(found, Pairs)
    assert found.candidate.classes == found.champion.classes == ("a", "x", "y")
    assert isinstance(found.candidate.label, Categories)
    assert found.candidate.label.codes.tolist() == [1, 2, 1]


def test_a_class_that_one_model_alone_predicts_has_no_score_of_the_other() -> None:
    mine = rows(score=[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    found = pair(mine, rows(prediction=["a", "y", "x"], score=[[0.1, 0.8, 0.1]] * 3))
    assert isinstance(found, Pairs)
    assert found.candidate.score is not None
    np.testing.assert_array_equal(found.candidate.score, [[0, 0.9, 0.1], [0, 0.2, 0.8], [0, 0.5, 0.5]])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": [1, 2, 4]}, r"1 ids are in the candidate's rows alone \(3\); 1 ids are in the champion's"),
        ({"id": ["1", "2", "3"]}, "ids are int64, the champion's large_string"),
        ({"label": ["x", "y", "y"]}, "'label' differs for 1 of the ids: 3"),
        ({"slice_s": ["p", "q", "q"]}, "'slice_s' differs for 1 of the ids: 3"),
        ({"slice_s": None}, "Only the candidate's rows have the column 'slice_s'"),
        ({"weight": [1.0, 1.0, 2.0]}, "Only the champion's rows have the column 'weight'"),
        ({"label": [1.0, 2.0, 1.0], "prediction": [1.0, 2.0, 2.0]}, "floating-point"),
        ({"label": [1, 2, 1], "prediction": [1, 2, 2]}, "another type"),
    ],
)
def test_what_does_not_pair_is_told(changed: dict[str, Any], message: str) -> None:
    import re

    found = pair(rows(), rows(**changed))
    assert isinstance(found, str)
    assert re.search(message, found), found


def test_rows_of_a_part_do_not_pair() -> None:
    found = pair(rows(), rows().take(np.array([0, 1])))
    assert found == "1 ids are in the candidate's rows alone (3)."
