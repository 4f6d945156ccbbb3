from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldenpath.checkpoint import layout
from goldenpath.checkpoint.manifest import Array, Chunk, array_fault
from goldenpath.errors import InputError


@given(
    sizes=st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 1000), max_size=30),
    world_size=st.integers(1, 8),
)
def test_every_array_has_one_writer_and_the_load_is_even(sizes: dict[str, int], world_size: int) -> None:
    found = layout.writers(sizes, world_size)
    assert found.keys() == sizes.keys()
    load = [sum(sizes[n] for n, rank in found.items() if rank == r) for r in range(world_size)]
    assert max(load) - min(load) <= max(sizes.values(), default=0)


def test_every_rank_gives_the_same_writers_whatever_its_order() -> None:
    sizes = {"a": 5, "b": 5, "c": 1}
    assert layout.writers(sizes, 2) == layout.writers(dict(reversed(sizes.items())), 2)


def array(*chunks: tuple[int, int, int], whole: int = 4, dtype: str = "float32") -> Array:
    return Array(
        dtype=dtype,
        shape=(whole,),
        kind="numpy",
        chunks=tuple(Chunk(rank=r, start=0, offset=(o,), shape=(n,)) for r, o, n in chunks),
    )


def test_shards_of_two_ranks_merge_and_a_box_written_twice_counts_once() -> None:
    found = layout.merged([{"w": array((0, 0, 2))}, {"w": array((1, 2, 2))}, {"w": array((2, 2, 2))}])
    assert [(c.rank, c.offset) for c in found["w"].chunks] == [(0, (0,)), (1, (2,))]
    assert array_fault("w", found["w"]) == ""


def test_ranks_that_differ_in_a_shape_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"'w' is float32\[4\] on one rank and float32\[5\]"):
        layout.merged([{"w": array((0, 0, 4))}, {"w": array((1, 0, 5), whole=5)}])


@pytest.mark.parametrize(
    ("broken", "word"),
    [
        (array((0, 0, 2)), "hold 2 of 4"),
        (array((0, 0, 2), (0, 0, 2)), "same place"),
        (array((0, 3, 2)), "outside"),
        (array((0, -1, 4)), "outside"),
        (array((0, 0, 4), dtype="object"), "unknown type"),
    ],
)
def test_chunks_that_do_not_tile_the_array_are_a_fault(broken: Array, word: str) -> None:
    assert word in array_fault("w", broken)
