from __future__ import annotations

import pytest

from goldenpath.data import fetch
from goldenpath.data.fetch import spans


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([], []),
        ([(0, 5)], [(0, 5)]),
        ([(5, 9), (0, 5)], [(0, 9)]),
        ([(0, 5), (15, 20)], [(0, 20)]),
        ([(0, 5), (16, 20)], [(0, 5), (16, 20)]),
        ([(0, 50), (3, 7)], [(0, 50)]),
        ([(3, 7), (3, 7)], [(3, 7)]),
    ],
)
def test_pieces_that_lie_close_are_read_together(
    wanted: list[tuple[int, int]], expected: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_GAP", 10)
    assert spans(wanted) == expected
