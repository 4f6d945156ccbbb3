"""kill -9 at random instants: what is committed stays whole, and the next run finishes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goldenpath import data
from goldenpath.data import Lineage, SnapshotOptions, versions
from goldenpath.provenance import Code
from goldenpath.store import Store, keys

KILLS = int(os.environ.get("GOLDENPATH_FAULTS", "10"))

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300 + 60 * KILLS)]

WORKER = """
import sys
from datetime import timedelta
from pathlib import Path
from goldenpath import data
from goldenpath.provenance import Code
from goldenpath.store import open_store

act, store_url, source, dest = sys.argv[1:]
store = open_store(store_url)
print("ready", flush=True)
if act == "snapshot":
    lineage = data.Lineage(run="killed", step="snapshot", code=Code())
    data.snapshot(source, "digits", store=store, options=data.SnapshotOptions(), lineage=lineage,
                  cache_dir=Path(dest).parent / "cache")
elif act == "restore":
    data.restore("digits", Path(dest), store=store)
elif act == "sync":
    data.restore("digits", Path(dest), store=store, sync=True)
else:
    data.gc(store=store, delete=True)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    content = random.Random(3)
    for number in range(1500):
        path = root / f"{number % 20}" / f"{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.randbytes(8192))
    for number in range(3):
        (root / f"big-{number}").write_bytes(content.randbytes(20 * 2**20))
    return root


def start(act: str, store: Store, source: Path, dest: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, act, store.url, str(source), str(dest)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def duration(act: str, store: Store, source: Path, dest: Path) -> float:
    """Seconds from the moment that the interpreter is ready."""
    with start(act, store, source, dest) as process:
        started = time.monotonic()
        assert process.wait() == 0
    return time.monotonic() - started


def kill_within(seconds: float, act: str, store: Store, source: Path, dest: Path) -> bool:
    """Whether the process was still alive when it was killed."""
    with start(act, store, source, dest) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def instants(longest: float, seed: int) -> list[float]:
    chosen = random.Random(seed)
    return [chosen.uniform(0, longest) for _ in range(KILLS)]


def take(store: Store, source: Path, run: str) -> str:
    lineage = Lineage(run=run, step="snapshot", code=Code())
    return data.snapshot(str(source), "digits", store=store, options=SnapshotOptions(), lineage=lineage).ref


def test_a_killed_snapshot_leaves_whole_versions_and_the_next_finishes(
    source: Path, file_store: Store, tmp_path: Path
) -> None:
    longest = duration("snapshot", file_store, source, tmp_path / "dest")
    killed = 0
    for number, instant in enumerate(instants(longest, seed=1)):
        (source / "0" / "0").write_bytes(f"round {number}".encode())
        (source / "big-0").write_bytes(random.Random(number).randbytes(20 * 2**20))
        before = versions.numbers("digits", store=file_store)
        killed += kill_within(instant, "snapshot", file_store, source, tmp_path / "dest")
        for version in versions.numbers("digits", store=file_store)[len(before) - 1 :]:
            assert data.verify(f"digits:{version}", store=file_store, deep=True).ok
        with start("snapshot", file_store, source, tmp_path / "dest") as process:
            assert process.wait() == 0
        assert versions.numbers("digits", store=file_store) == [*before, before[-1] + 1]
    data.restore("digits", tmp_path / "dest", store=file_store)
    assert content(tmp_path / "dest") == content(source)
    assert killed > 0


@pytest.mark.parametrize("act", ["restore", "sync"])
def test_a_killed_restore_shows_nothing_or_all_and_the_next_finishes(
    act: str, source: Path, file_store: Store, tmp_path: Path
) -> None:
    take(file_store, source, "first")
    folder = tmp_path / "work"
    dest = folder / "dest"
    whole = content(source)
    longest = duration(act, file_store, source, dest)
    killed = 0
    for number, instant in enumerate(instants(longest, seed=2)):
        if act == "restore":
            subprocess.run(["rm", "-rf", dest], check=True)
        else:
            for path in random.Random(number).sample(sorted(whole), 700):
                (dest / path).write_bytes(b"changed here")
        killed += kill_within(instant, act, file_store, source, dest)
        if act == "restore" and dest.exists():
            assert content(dest) == whole
            continue
        if act == "sync":
            found = {path: file for path, file in content(dest).items() if ".goldenpath-restore-" not in path}
            assert all(file in (whole.get(path), b"changed here") for path, file in found.items())
        with start(act, file_store, source, dest) as process:
            assert process.wait() == 0
        assert content(dest) == whole
        assert [path.name for path in folder.iterdir()] == ["dest"]
    assert killed > 0


def test_a_killed_collection_loses_no_version_and_the_next_finishes(
    source: Path, file_store: Store, tmp_path: Path
) -> None:
    ref = take(file_store, source, "first")
    garbage = [keys.object_(f"{number:064x}") for number in range(2000)]

    def make_garbage() -> None:
        for key in garbage:
            file_store.put(key, b"left behind")
        for path in (tmp_path / "store").rglob("*"):
            os.utime(path, (1, 1))

    make_garbage()
    longest = duration("gc", file_store, source, tmp_path / "dest")
    killed = 0
    for instant in instants(longest, seed=3):
        make_garbage()
        killed += kill_within(instant, "gc", file_store, source, tmp_path / "dest")
        for plan in file_store.list(keys.GC_PLANS):
            os.utime(tmp_path / "store" / plan.key, (1, 1))
        data.gc(store=file_store, delete=True)
        assert {entry.key for entry in file_store.list("objects")}.isdisjoint(garbage)
    assert data.verify(ref, store=file_store, deep=True).ok
    assert killed > 0
