"""Publishing: once, under the digest of the files, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from goldenpath import refs, registry
from goldenpath.errors import InputError, RefError, Temporary
from goldenpath.registry import transfer
from goldenpath.store import Store, open_store


@pytest.fixture(params=["memory_store", "file_store"])
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "weights").mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (made / "weights" / "ö 1.bin").write_bytes(b"\x00" * 1000)
    (made / "empty").write_bytes(b"")
    return made


def test_the_files_lie_under_their_digest_as_model_servers_read_them(store: Store, folder: Path) -> None:
    ref = refs.parse(registry.publish(folder, "digits", store=store))
    prefix = f"models/digits/sha256-{ref.digest}/"
    assert (ref.name, ref.number) == ("digits", None)
    assert sorted(entry.key for entry in store.list(prefix)) == sorted(
        prefix + name for name in ("config.json", "weights/ö 1.bin", "empty", "manifest.json")
    )
    assert store.get(prefix + "config.json") == b"{}"


def test_the_digest_is_that_of_the_files_alone(store: Store, folder: Path, tmp_path: Path) -> None:
    ref = registry.publish(folder, "digits", store=store, metadata={"accuracy": 0.9})
    os.utime(folder / "config.json", (0, 0))
    (folder / "config.json").chmod(0o600)
    assert registry.publish(folder, "digits", store=store, metadata={"accuracy": 0.1}) == ref
    # The first metadata stays: the manifest is written once.
    assert registry.read_manifest(ref, store=store).metadata == {"accuracy": 0.9}
    (folder / "config.json").write_text("{ }")
    assert registry.publish(folder, "digits", store=store) != ref


def test_the_digest_of_known_files_never_changes(memory_store: Store, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.txt").write_text("hello\n")
    ref = registry.publish(tmp_path / "m", "known", store=memory_store)
    assert refs.parse(ref).digest == "9b71b9f9b8303f88294564e95ebb16a541c594f5d571e65c972a6cb368167edd"


def test_a_model_over_one_piece_arrives_whole(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PIECE", 300)
    monkeypatch.setattr("goldenpath.registry.publication.PIECE", 300)
    (folder / "big").write_bytes(os.urandom(1234))
    ref = registry.publish(folder, "digits", store=store)
    got = registry.fetch(ref, tmp_path / "got", store=store)
    assert (got / "big").read_bytes() == (folder / "big").read_bytes()
    registry.verify(ref, store=store)


@pytest.mark.parametrize("size", [10, 1234])
def test_a_file_that_changes_meanwhile_is_never_stored(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("goldenpath.registry.publication.PIECE", 300)
    (folder / "big").write_bytes(b"a" * size)
    hash_file = transfer.sha256_of

    def then_changed(path: Path) -> str:
        digest = hash_file(path)
        if path.name == "big":
            path.write_bytes(b"b" * size)
        return digest

    monkeypatch.setattr("goldenpath.registry.publication.sha256_of", then_changed)
    with pytest.raises(InputError, match="changed while it was being published"):
        registry.publish(folder, "digits", store=store)
    assert not [e.key for e in store.list("models/") if e.key.endswith(("big", "manifest.json"))]


def test_what_was_uploaded_before_a_fault_is_not_uploaded_again(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, keys = Store.put, []

    def failing(self: Store, key: str, data: bytes | Path) -> None:
        keys.append(key)
        if len(keys) == 3:
            raise Temporary("the store went away")
        put(self, key, data)

    monkeypatch.setattr(Store, "put", failing)
    with pytest.raises(Temporary):
        registry.publish(folder, "digits", store=store)
    assert not [entry for entry in store.list("models/") if entry.key.endswith("manifest.json")]
    ref = registry.publish(folder, "digits", store=store)
    assert len(keys) == 4
    registry.verify(ref, store=store)


def test_a_link_inside_the_folder_stands_for_its_file(store: Store, folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to("config.json")
    ref = registry.publish(folder, "digits", store=store)
    got = registry.fetch(ref, tmp_path / "got", store=store)
    assert (got / "link").read_text() == "{}"
    assert not (got / "link").is_symlink()


def _escape(folder: Path) -> None:
    (folder / "passwd").symlink_to("/etc/passwd")


def _escape_upwards(folder: Path) -> None:
    (folder.parent / "secret").write_text("x")
    (folder / "up").symlink_to("../secret")


def _dangling(folder: Path) -> None:
    (folder / "gone").symlink_to("nothing")


def _loop(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")


def _folder_link(folder: Path) -> None:
    (folder / "again").symlink_to("weights")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def _reserved(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")


def _staged(folder: Path) -> None:
    (folder / "a#1").write_text("x")


def _control(folder: Path) -> None:
    (folder / "a\nb").write_text("x")


def _backslash(folder: Path) -> None:
    (folder / "..\\b").write_text("x")


def _not_utf8(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_text("x")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_escape, "leads out of"), (_escape_upwards, "leads out of"), (_dangling, "leads nowhere"),
        (_loop, "leads nowhere"), (_folder_link, "link to a folder"), (_pipe, "neither a file nor a folder"),
        (_reserved, "kept for goldenpath"), (_staged, "'#' and digits"), (_control, "control character"),
        (_backslash, "backslash"), (_not_utf8, "not UTF-8"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_models_file_is_refused_before_a_byte_is_written(
    store: Store, folder: Path, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(folder)
    with pytest.raises(InputError, match=words):
        registry.publish(folder, "digits", store=store)
    assert list(store.list()) == []


def test_an_empty_folder_and_a_file_are_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    with pytest.raises(InputError, match="holds no files"):
        registry.publish(tmp_path / "empty", "digits", store=store)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is not a folder"):
        registry.publish(tmp_path / "file", "digits", store=store)


@pytest.mark.parametrize("name", ["../up", "a/b", "", "Upper", "a b", ".hidden", "x" * 129])
def test_a_hostile_model_name_is_refused(store: Store, folder: Path, name: str) -> None:
    with pytest.raises(RefError, match="not allowed"):
        registry.publish(folder, name, store=store)


def test_metadata_that_json_cannot_carry_is_refused(store: Store, folder: Path) -> None:
    with pytest.raises(InputError, match="canonical JSON"):
        registry.publish(folder, "digits", store=store, metadata={"loss": float("nan")})
    assert list(store.list()) == []


def test_a_publisher_killed_anywhere_leaves_no_model_or_a_whole_one(tmp_path: Path, folder: Path) -> None:
    """A child is killed before its n-th write, for every n; run again, it completes the model."""
    url = (tmp_path / "store").as_uri()
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from goldenpath import registry\n"
        "from goldenpath.store import Store, open_store\n"
        "left = int(sys.argv[1])\n"
        "def dying(act):\n"
        "    def wrapped(*args, **kwargs):\n"
        "        global left\n"
        "        left -= 1\n"
        "        if left < 0:\n"
        "            os.kill(os.getpid(), 9)\n"
        "        return act(*args, **kwargs)\n"
        "    return wrapped\n"
        "Store.put, Store.create = dying(Store.put), dying(Store.create)\n"
        "print(registry.publish(Path(sys.argv[2]), 'digits', store=open_store(sys.argv[3])))\n"
    )
    for writes in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program, str(writes), str(folder), f"{url}-{writes}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (0 if writes == 4 else -9), done.stderr
        store = open_store(f"{url}-{writes}")
        manifests = [e.key for e in store.list("models/") if e.key.endswith("manifest.json")]
        assert len(manifests) == (1 if writes == 4 else 0)
        ref = registry.publish(folder, "digits", store=store)
        assert json.loads(store.get(registry.read_manifest(ref, store=store).prefix + "manifest.json"))
        registry.verify(ref, store=store)
