"""The store's contract over a folder and over memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from goldenpath.errors import ConfigError, DataDamaged, GoldenPathError, InputError, NotFound, RefError
from goldenpath.store import Store, get_document, keys, open_store, put_document


@pytest.fixture(params=["memory_store", "file_store"])
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


def test_create_writes_once(store: Store) -> None:
    assert store.create("a/b", b"first") is True
    assert store.create("a/b", b"second") is False
    assert store.get("a/b") == b"first"


def test_a_stream_is_written_whole_or_not_at_all(store: Store) -> None:
    def pieces(*, broken: bool) -> Iterator[bytes]:
        yield b"x" * (9 << 20)
        if broken:
            raise InputError("the source changed")
        yield b"y"

    store.put_stream("whole", pieces(broken=False), size=(9 << 20) + 1)
    assert store.get_range("whole", (9 << 20) - 1, 2) == b"xy"
    with pytest.raises(InputError, match="the source changed"):
        store.put_stream("broken", pieces(broken=True), size=(9 << 20) + 1)
    assert store.head("broken") is None


def test_what_is_not_there_is_none_or_not_found(store: Store) -> None:
    assert store.get_or_none("nothing") is None
    assert store.head("nothing") is None
    assert list(store.list("nothing/")) == []
    store.delete("nothing")
    with pytest.raises(NotFound, match="nothing"):
        store.get("nothing")


def test_ranges_are_exact_and_a_short_object_is_damage(store: Store) -> None:
    store.put("x", b"0123456789")
    assert store.get_range("x", 2, 3) == b"234"
    assert store.get_range("x", 0, 0) == b""
    with pytest.raises(DataDamaged, match="ends early"):
        store.get_range("x", 8, 5)


def test_listing_stays_inside_the_folder(store: Store) -> None:
    for key in ("a/1", "a/b/2", "ab/3"):
        store.put(key, b"x")
    assert sorted(entry.key for entry in store.list("a/")) == ["a/1", "a/b/2"]


def test_a_document_is_found_by_its_digest_and_damage_is_found(store: Store) -> None:
    uri = put_document(store, {"b": 1, "a": [True, None]})
    assert put_document(store, {"a": [True, None], "b": 1}) == uri
    assert get_document(uri) == {"a": [True, None], "b": 1}
    store.put(uri.removeprefix(store.url + "/"), b'{"b":2}')
    with pytest.raises(DataDamaged, match="damaged"):
        get_document(uri)


def test_what_is_no_document_uri_is_refused(store: Store) -> None:
    with pytest.raises(RefError, match="not a document's URI"):
        get_document(store.uri("manifests/sha256/abc"))


def test_a_store_at_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be made"):
        open_store((tmp_path / "file").as_uri())


def test_a_store_in_a_folder_with_a_space_works(tmp_path: Path) -> None:
    store = open_store((tmp_path / "my store").as_uri())
    store.put("a", b"x")
    assert (tmp_path / "my store" / "a").read_bytes() == b"x"


def test_numbers_in_keys_sort_as_numbers() -> None:
    from goldenpath.refs import Kind

    made = [keys.ref(Kind.DATASETS, "d", n) for n in (2, 10, 1)]
    assert [keys.number_of(key) for key in sorted(made)] == [1, 2, 10]


def test_every_error_has_an_exit_code_and_survives_pickling() -> None:
    import pickle

    from goldenpath.errors import BY_NAME

    for kind in BY_NAME.values():
        error = pickle.loads(pickle.dumps(kind("What.", next_step="Do.")))
        assert isinstance(error, GoldenPathError)
        assert (str(error), error.exit_code) == ("What. Do.", kind.exit_code)
    assert ConfigError.exit_code == 2


def test_a_next_step_is_a_sentence_or_a_line_of_its_own() -> None:
    assert str(ConfigError("Nothing here: os error 2", next_step="Try.")) == "Nothing here: os error 2. Try."
    assert str(ConfigError("It failed:\nfile:///log", next_step="Try.")) == "It failed:\nfile:///log\nTry."
