"""The store's contract on a real S3 server; the same tests run over a folder and memory."""

from __future__ import annotations

import threading

import pytest

from goldenpath.errors import NotFound
from goldenpath.store import Store, open_store

pytestmark = pytest.mark.local


def test_one_of_many_racing_creates_wins(s3_store: Store) -> None:
    wins: list[int] = []

    def create(number: int) -> None:
        if s3_store.create("race", str(number).encode()):
            wins.append(number)

    threads = [threading.Thread(target=create, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wins) == 1
    assert s3_store.get("race") == str(wins[0]).encode()


def test_objects_are_written_read_listed_and_deleted(s3_store: Store) -> None:
    s3_store.put("folder/a", b"first")
    s3_store.put("folder/a", b"second")
    s3_store.put("folder/b/c", b"0123456789")
    assert s3_store.get("folder/a") == b"second"
    assert s3_store.get_range("folder/b/c", 3, 4) == b"3456"
    assert {e.key: e.size for e in s3_store.list("folder/")} == {"folder/a": 6, "folder/b/c": 10}
    s3_store.delete(["folder/a", "folder/never-was"])
    assert s3_store.head("folder/a") is None


def test_a_missing_bucket_is_named(s3_store: Store) -> None:
    with pytest.raises(NotFound, match="no-such-bucket"):
        open_store("s3://no-such-bucket").get("key")
