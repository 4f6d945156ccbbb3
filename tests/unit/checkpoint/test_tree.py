from __future__ import annotations

import json
import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from goldenpath.checkpoint.tree import PerRank, array_names, put_together, take_apart
from goldenpath.errors import DataDamaged, InputError


def round_trip(state: Any) -> Any:
    found = take_apart(state, rank=0)
    arrays = {leaf.name: leaf.value for leaf in found.leaves}
    return put_together(json.loads(json.dumps(found.tree)), arrays.__getitem__, found.own)


@pytest.mark.parametrize(
    "state",
    [
        None,
        3,
        "text",
        [1, 2.5, True, None],
        (1, (2, "x"), []),
        {"a": {"b": [(1,)]}},
        {0: "zero", "0": "text", 1.5: None},
        {"$tuple": [1]},
        {"$array": "x"},
        2**130,
        float("inf"),
        b"\x00\xff",
        {},
    ],
)
def test_structure_comes_back_as_it_was(state: Any) -> None:
    found = round_trip(state)
    assert found == state
    assert type(found) is type(state)


def test_nan_comes_back() -> None:
    assert math.isnan(round_trip({"loss": float("nan")})["loss"])


def test_order_of_keys_is_kept() -> None:
    assert list(round_trip(OrderedDict([("z", 1), ("a", 2)]))) == ["z", "a"]


def test_arrays_are_named_by_their_path() -> None:
    found = take_apart({"model": {"fc.weight": np.ones(2)}, "a/b": [np.zeros(1)]}, rank=0)
    assert [leaf.name for leaf in found.leaves] == ["model/fc.weight", "a~1b/0"]
    assert set(array_names(found.tree)) == {"model/fc.weight", "a~1b/0"}


def test_own_values_carry_the_rank_in_their_arrays_names() -> None:
    found = take_apart({"rng": PerRank({"state": np.ones(2)}), "w": np.ones(1)}, rank=3)
    assert {(leaf.name, leaf.own) for leaf in found.leaves} == {("3@rng/state", 3), ("w", None)}
    assert found.own == {"rng": {"state": {"$array": "3@rng/state"}}}


def test_own_values_of_other_ranks_are_left_out() -> None:
    found = take_apart({"rng": PerRank(5), "epoch": 2, "list": [PerRank(1), 7]}, rank=0)
    assert put_together(found.tree, lambda name: name, None) == {"epoch": 2, "list": [7]}


class Custom:
    pass


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"a": {"b": Custom()}}, ["'a/b'", "Custom", "pickle"]),
        ({"names": np.array(["x"])}, ["'names'", "<U1"]),
        ({"o": np.array([None])}, ["'o'", "object"]),
        ({"s": {1, 2}}, ["'s'", "set"]),
        ({(1, 2): 3}, ["root", "tuple"]),
        ({"r": PerRank(PerRank(1))}, ["'r'", "PerRank inside"]),
        ({1: np.ones(1), "1": np.ones(1)}, ["two arrays", "'1'"]),
    ],
)
def test_what_would_need_pickle_is_refused_by_key_and_type(state: Any, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        take_apart(state, rank=0)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    "tree",
    [
        {"$float": "not a number"},
        {"$bytes": "§"},
        {"$dict": [1, 2]},
        {"$dict": [[["unhashable"], 1]]},
        {"$array": "missing"},
        {"$rank": "missing"},
    ],
)
def test_a_broken_structure_is_damage(tree: Any) -> None:
    with pytest.raises(DataDamaged):
        put_together(tree, {}.__getitem__, {})


def test_a_structure_without_bottom_is_damage() -> None:
    tree: Any = 1
    for _ in range(200):
        tree = [tree]
    with pytest.raises(DataDamaged, match="deeper"):
        put_together(tree, {}.__getitem__, {})
