from __future__ import annotations

import pytest
from pydantic import ValidationError

from goldenpath.data import SnapshotOptions
from goldenpath.data.patterns import matcher


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.tmp", "a.tmp", True),
        ("*.tmp", "deep/er/a.tmp", True),
        ("*.tmp", "a.tmp.txt", False),
        ("cache", "a/cache", True),
        ("cache", "a/mycache", False),
        ("raw/*.csv", "raw/a.csv", True),
        ("raw/*.csv", "x/raw/a.csv", False),
        ("raw/*.csv", "raw/deep/a.csv", False),
        ("raw/**/a.csv", "raw/a.csv", True),
        ("raw/**/a.csv", "raw/x/y/a.csv", True),
        ("**/cache/", "x/cache", True),
        ("?.txt", "a.txt", True),
        ("?.txt", "ab.txt", False),
        ("a+(b)", "a+(b)", True),
        ("a*", "a\nb", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert matcher([pattern])(path) is fits


def test_no_pattern_fits_nothing() -> None:
    assert not matcher([])("a")


@pytest.mark.parametrize("pattern", ["", "/", "/abs", "../up", "a/../b"])
def test_a_pattern_that_can_fit_nothing_inside_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="empty, absolute or climbs"):
        SnapshotOptions(exclude=(pattern,))
