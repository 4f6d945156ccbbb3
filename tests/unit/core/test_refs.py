from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldenpath.errors import RefError
from goldenpath.refs import Kind, Ref, parse

HEX = "0123456789abcdef" * 4

names = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,20}[a-z0-9])?", fullmatch=True)
runs = st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True)
segments = st.from_regex(r"[A-Za-z0-9_%@:.-]{1,12}", fullmatch=True).filter(lambda s: s not in (".", ".."))
stores = st.builds(
    lambda scheme, bucket, path: (
        ("file:///" if scheme == "file" else f"{scheme}://") + "/".join([bucket, *path])
    ),
    st.sampled_from(["file", "s3", "gs", "az", "memory"]),
    segments.filter(lambda s: "@" not in s),
    st.lists(segments, max_size=3),
)


@st.composite
def refs(draw: st.DrawFn) -> Ref:
    kind = draw(st.sampled_from(Kind))
    return Ref(
        store=draw(stores),
        kind=kind,
        name=draw(runs if kind is Kind.CHECKPOINTS else names),
        number=draw(st.none() | st.integers(0, 10**10 - 1)),
        digest=draw(st.none() | st.from_regex(r"[0-9a-f]{64}", fullmatch=True)),
    )


@given(refs())
def test_parse_and_print_are_inverse(ref: Ref) -> None:
    assert parse(str(ref)) == ref


@given(refs())
def test_short_forms_are_completed_by_the_store_and_the_kind(ref: Ref) -> None:
    relative = str(ref).removeprefix(ref.store + "/")
    assert parse(relative, store=ref.store) == ref
    assert parse(relative.partition("/")[2], store=ref.store, kind=ref.kind) == ref


@given(st.text(max_size=80))
def test_any_text_parses_or_raises_a_ref_error(text: str) -> None:
    try:
        ref = parse(text, store="memory://s", kind=Kind.DATASETS)
    except RefError:
        return
    assert parse(str(ref)) == ref


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "The reference is empty"),
        ("ftp://host/datasets/a:1", "'ftp://host' has no known scheme"),
        ("s3://key:secret@lake/datasets/a:1", "carries credentials"),
        ("lake/datasets/a:1", "'lake' of 'lake/datasets/a:1' has no scheme"),
        ("datasets/a:1", "names no store"),
        ("s3://lake/data/a:1", "The kind 'data'"),
        ("s3://lake/datasets/A:1", "The name 'A'"),
        ("s3://lake/datasets/-a:1", "The name '-a'"),
        ("s3://lake/datasets/:1", "The name ''"),
        ("s3://lake/checkpoints/Run_1:1", "The name 'Run_1'"),
        ("s3://lake/datasets/a:", "The number ''"),
        ("s3://lake/datasets/a:latest", "The number 'latest'"),
        ("s3://lake/datasets/a:01", "The number '01'"),
        ("s3://lake/datasets/a:-1", "The number '-1'"),
        ("s3://lake/datasets/a:10000000000", "The number 10000000000"),
        ("s3://lake/datasets/a:1@md5:00", "The digest algorithm 'md5'"),
        ("s3://lake/datasets/a:1@sha256:00", "The digest '00'"),
        (f"s3://lake/datasets/a:1@sha256:{HEX.upper()}", "The digest '0123"),
        ("s3:///datasets/a:1", "empty"),
        ("file://relative/datasets/a:1", "not absolute"),
        ("s3://lake/../datasets/a:1", "'..' segment"),
        ("s3://lake//datasets/a:1", "empty"),
        ("s3://la ke/datasets/a:1", "white space"),
        ("s3://lake?x=1/datasets/a:1", "'?'"),
    ],
)
def test_every_malformed_form_names_the_part(text: str, part: str) -> None:
    with pytest.raises(RefError) as caught:
        parse(text)
    assert part in str(caught.value)


def test_another_kind_than_expected_is_refused() -> None:
    with pytest.raises(RefError, match="reference to models"):
        parse("s3://lake/models/a:1", kind=Kind.DATASETS)
