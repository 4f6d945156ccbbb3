"""Names of a path file that could not be kept are told before anything is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldenpath.errors import ConfigError
from goldenpath.submit import load_path

FILE = """
path: train-to-serve
model: toy
data: {train: {source: data/train}, test: {source: data/test}}
training: {entry_point: train.py}
evaluation: {evaluator: "score:evaluate"}
"""


@pytest.mark.parametrize(
    ("override", "place"),
    [
        ("model=../x", "'model' is '../x'"),
        ("model=<script>", "'model' is '<script>'"),
        (f"model={'a' * 300}", "'model' is 'aaa"),
        ("service=a/b", "'service' is 'a/b'"),
        ("data.train.name=../../etc", "'data.train.name' is '../../etc'"),
        ("data={test: {source: a}, 'Träin ': {source: b}}", "'Träin '"),
        ("data={test: {source: a}, a/b: {source: b}}", "'a/b'"),
    ],
)
def test_a_name_that_cannot_be_kept_is_told_with_its_place(override: str, place: str) -> None:
    Path("path.yaml").write_text(FILE)
    with pytest.raises(ConfigError) as caught:
        load_path("train-to-serve", Path("path.yaml"), overrides=[override])
    assert place in str(caught.value)


def test_ordinary_names_pass() -> None:
    Path("path.yaml").write_text(FILE)
    loaded = load_path("train-to-serve", Path("path.yaml"), overrides=["service=shop.eu-1"])
    assert loaded.config.service_name == "shop.eu-1"
