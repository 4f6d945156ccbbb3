from __future__ import annotations

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from goldenpath.data.rows import BLOCK, Row, check_link, check_path, decode, encode, order, parse
from goldenpath.errors import DataDamaged

HEX = "0" * 64

names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=40
).filter(lambda name: name not in (".", ".."))
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@given(path=paths, size=st.integers(0, 3 * BLOCK), mode=st.integers(0, 0o777))
def test_a_files_row_is_canonical_json_and_reads_back(path: str, size: int, mode: int) -> None:
    row = Row(path, size, mode, (HEX,) * -(-size // BLOCK))
    line = encode(row)
    assert line == rfc8785.dumps({"path": path, "size": size, "mode": mode, "chunks": list(row.chunks)})
    assert parse(line) == row
    assert b"\n" not in line


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (Row("a/l", link="../b c"), b'{"link":"../b c","path":"a/l"}'),
        (Row("empty", mode=0o755, folder=True), b'{"folder":true,"mode":493,"path":"empty"}'),
    ],
)
def test_links_and_folders_have_rows_of_their_own(row: Row, line: bytes) -> None:
    assert encode(row) == line
    assert parse(line) == row


@given(st.lists(paths, unique=True))
def test_rows_are_ordered_as_a_walk_with_sorted_names_finds_them(found: list[str]) -> None:
    assert sorted(found, key=order) == sorted(found, key=lambda path: path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        ".",
        "..",
        "a\0b",
        "n" * 256,
        "ü" * 128,
        7,
        None,
    ],
)
def test_a_path_that_could_leave_its_root_or_no_disk_can_hold_is_refused(path: object) -> None:
    with pytest.raises(ValueError):
        check_path(path)


@pytest.mark.parametrize("path", ["n" * 255, "a\nb", " ", "é", "e\u0301", "...", "-rf", "a/.b"])
def test_odd_but_possible_paths_are_kept(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("l", ".."),
        ("l", "/etc"),
        ("a/l", "../../x"),
        ("l", "a/../../x"),
        # Lexically this stays inside; but if 'deep' is a link to the root, it does not.
        ("l", "a/deep/../.."),
        ("l", ""),
        ("l", "a\0"),
        ("l", "\ud800"),
    ],
)
def test_a_link_that_may_leave_the_root_is_refused(path: str, target: str) -> None:
    with pytest.raises(ValueError):
        check_link(path, target)


@pytest.mark.parametrize(
    ("path", "target"), [("l", "x"), ("a/l", "../x"), ("a/b/l", "../../c/d"), ("l", "."), ("a/l", "./x")]
)
def test_a_link_inside_the_root_is_kept(path: str, target: str) -> None:
    assert check_link(path, target) == target


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([b"{"], "row 1"),
        ([b"[]"], "no JSON object"),
        ([b'{"path":"a"}'], "mode"),
        ([b'{"chunks":[],"mode":420,"path":"../a","size":0}'], "climbs"),
        ([b'{"chunks":[],"mode":420,"path":"a","size":1}'], "0 chunks do not make 1 bytes"),
        ([b'{"chunks":[],"mode":2541,"path":"a","size":0}'], "2541"),
        ([b'{"chunks":[],"mode":420,"path":"a","size":-1}'], "-1"),
        ([b'{"chunks":["../../x"],"mode":420,"path":"a","size":1}'], "no sha256"),
        ([b'{"chunks":[],"extra":1,"mode":420,"path":"a","size":0}'], "extra"),
        ([b'{"folder":1,"mode":420,"path":"a"}'], "not true"),
        ([b'{"link":"/etc","path":"a"}'], "outside the root"),
    ],
)
def test_a_manifest_that_no_snapshot_writes_is_refused(lines: list[bytes], fault: str) -> None:
    with pytest.raises(DataDamaged, match=fault):
        list(decode(lines, where="manifest m"))


@pytest.mark.parametrize(
    ("first", "second", "fault"),
    [
        (Row("b"), Row("a"), "comes after"),
        (Row("a"), Row("a"), "comes after"),
        (Row("a", link="b"), Row("a/x"), "is a link, and 'a/x' is below it"),
        (Row("a"), Row("a/x"), "is a file"),
        (Row("a", mode=0o755, folder=True), Row("a/x"), "folder without content"),
    ],
)
def test_rows_out_of_order_or_below_a_file_are_refused(first: Row, second: Row, fault: str) -> None:
    with pytest.raises(DataDamaged, match=fault):
        list(decode([encode(first), encode(second)], where="m"))
