"""Snapshots and restores beside DVC (tuned) and a raw obstore copy, on a real SeaweedFS.

    python tests/bench/data/bench_data.py                     the full size: 10,000 x 10 KiB, 8 x 256 MiB
    python tests/bench/data/bench_data.py --scale 0.1         a tenth of it
    python tests/bench/data/bench_data.py --dvc PATH          a DVC that is installed already

Every time is the wall clock of a fresh process from start to end, interpreter and imports included,
for this library as for DVC; ``library_s`` is what remains without start and imports. Ratios are
DVC's time by ours, in one run on one machine; absolute times say little elsewhere. Every restore of
ours verifies each byte; DVC's does not. DVC is installed into a virtual environment of its own unless
it is named.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from goldenpath.testing.services import S3Service, seaweedfs

DVC = "dvc[s3]==3.67.1"
JOBS = 64
RAW_THREADS = 12
KIB, MIB = 1024, 1024**2


@dataclass(frozen=True, kw_only=True)
class Size:
    """One set of files."""

    name: str
    files: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One row of the table; seconds."""

    set: str
    step: str
    ours_s: float
    ours_cpu_s: float
    library_s: float
    dvc_s: float | None
    dvc_cpu_s: float | None
    raw_s: float | None

    @property
    def ratio(self) -> float | None:
        """How many times DVC's time is ours."""
        return None if self.dvc_s is None else self.dvc_s / self.ours_s

    @property
    def cpu_ratio(self) -> float | None:
        """The same for processor time, which other load on the machine changes little."""
        return None if self.dvc_cpu_s is None else self.dvc_cpu_s / self.ours_cpu_s


class Ours:
    """This library: one process a step."""

    def __init__(self, work: Path, s3: S3Service, data: Path, size: Size) -> None:
        self.work, self.data, self.name = work / "ours", data, f"bench-{size.name}"
        self.store = s3.url(f"ours-{size.name}")
        self.environment = {**os.environ, **s3.environment}
        self.inside = 0.0

    def snapshot(self) -> None:
        self._run("snapshot", str(self.data), self.name, str(self.work / "cache"))

    def restore(self) -> None:
        dest = self.work / "restored"
        shutil.rmtree(dest, ignore_errors=True)
        self._run("restore", self.name, str(dest))

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, __file__, "--worker", self.store, *arguments],
            env=self.environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        self.inside = float(done.stdout)


class Dvc:
    """DVC with 64 jobs and hard links: add, push; pull into a fresh clone."""

    def __init__(self, program: str, work: Path, s3: S3Service, data: Path, size: Size) -> None:
        self.program, self.project, self.clone = program, work / "dvc", work / "dvc-clone"
        self.environment = {**os.environ, **s3.environment, "DVC_NO_ANALYTICS": "1"}
        self.project.mkdir(parents=True)
        self._run(self.project, "init", "--no-scm")
        self._run(self.project, "config", "core.analytics", "false")
        self._run(self.project, "config", "core.check_update", "false")
        self._run(self.project, "config", "cache.type", "hardlink,copy")
        self._run(self.project, "remote", "add", "-d", "s3", s3.url(f"dvc-{size.name}"))
        self._run(self.project, "remote", "modify", "s3", "endpointurl", s3.endpoint)
        self._run(self.project, "remote", "modify", "s3", "jobs", str(JOBS))
        shutil.copytree(data, self.project / "data")

    def snapshot(self) -> None:
        self._run(self.project, "add", "-q", "data")
        self._run(self.project, "push", "-q", "-j", str(JOBS))

    def restore(self) -> None:
        shutil.rmtree(self.clone, ignore_errors=True)
        self.clone.mkdir()
        shutil.copytree(
            self.project / ".dvc", self.clone / ".dvc", ignore=shutil.ignore_patterns("cache", "tmp")
        )
        shutil.copy(self.project / "data.dvc", self.clone)
        self._run(self.clone, "pull", "-q", "-j", str(JOBS))

    def _run(self, folder: Path, *arguments: str) -> None:
        subprocess.run(
            [self.program, *arguments],
            cwd=folder,
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )


def raw_copy(s3: S3Service, data: Path, prefix: str) -> tuple[float, float]:
    """Seconds to copy every file up and down with obstore alone: no digests, no versions."""
    os.environ.update(s3.environment)
    import obstore

    from goldenpath.store import open_store

    backend = open_store(s3.url(prefix)).backend
    names = [str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()]

    def up(name: str) -> None:
        obstore.put(backend, name, data / name)

    with tempfile.TemporaryDirectory(dir=data.parent) as folder:

        def down(name: str) -> None:
            with (Path(folder) / name.replace("/", "_")).open("wb") as file:
                for part in obstore.get(backend, name).stream(min_chunk_size=8 * MIB):
                    file.write(part)

        return _for_all(up, names), _for_all(down, names)


def _for_all(act: Callable[[str], None], names: Iterable[str]) -> float:
    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(RAW_THREADS) as pool:
        list(pool.map(act, names))
    return time.perf_counter() - started


def make_files(folder: Path, size: Size) -> None:
    """Random content, a hundred files a folder."""
    content = random.Random(7)
    for number in range(size.files):
        path = folder / f"{number // 100:04d}" / f"{number:06d}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for start in range(0, size.bytes, 16 * MIB):
                file.write(content.randbytes(min(16 * MIB, size.bytes - start)))


def change(folders: Iterable[Path], size: Size) -> None:
    """One file in a hundred is rewritten; of a large set, a hundredth of one file is overwritten."""
    for folder in folders:
        content = random.Random(8)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        for path in paths[:: max(1, min(100, len(paths)))]:
            # Unlinked first: DVC's copy is a hard link into its cache.
            data = bytearray(path.read_bytes())
            path.unlink()
            data[: max(1, size.bytes // 100)] = content.randbytes(max(1, size.bytes // 100))
            path.write_bytes(data)


def measure(size: Size, work: Path, s3: S3Service, dvc: str | None) -> list[Measured]:
    """All steps of one set, ours and the peers' in turn."""
    data = work / "data"
    make_files(data, size)
    raw_up, raw_down = raw_copy(s3, data, f"raw-{size.name}")
    time.sleep(3)  # older than the moment of the scan: only then is a stamp trusted
    ours = Ours(work, s3, data, size)
    peer = Dvc(dvc, work, s3, data, size) if dvc else None
    rows: list[Measured] = []

    def row(step: str, act: str, raw: float | None = None) -> None:
        ours_s, ours_cpu_s = _timed(getattr(ours, act))
        dvc_s, dvc_cpu_s = _timed(getattr(peer, act)) if peer else (None, None)
        rows.append(
            Measured(
                set=size.name, step=step, ours_s=ours_s, ours_cpu_s=ours_cpu_s, library_s=ours.inside,
                dvc_s=dvc_s, dvc_cpu_s=dvc_cpu_s, raw_s=raw,
            )
        )  # fmt: skip
        print(_line(rows[-1]), flush=True)

    row("first snapshot", "snapshot", raw_up)
    row("fresh restore", "restore", raw_down)
    row("nothing changed", "snapshot")
    change([data, *([peer.project / "data"] if peer else [])], size)
    time.sleep(3)
    row("1% changed", "snapshot")
    return rows


def _timed(act: Callable[[], None]) -> tuple[float, float]:
    """Seconds of wall clock, and of the processor in child processes (the server is none of them)."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    act()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _line(row: Measured) -> str:
    def shown(value: float | None, digits: int = 2) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    raw = None if row.raw_s is None else row.library_s / row.raw_s
    return (
        f"| {row.set}: {row.step} | {shown(row.ours_s)} | {shown(row.dvc_s)} | {shown(row.ratio, 1)} | "
        f"{shown(row.ours_cpu_s)} | {shown(row.dvc_cpu_s)} | {shown(row.cpu_ratio, 1)} | "
        f"{shown(row.library_s)} | {shown(row.raw_s)} | {shown(raw)} |"
    )


def install_dvc(folder: Path) -> str:
    """The DVC to compare with, in a virtual environment of its own."""
    program = folder / "bin" / "dvc"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", DVC], check=True)
    return str(program)


def worker(store_url: str, act: str, *arguments: str) -> None:
    """One step of ours, in its own process; prints the library's seconds."""
    from goldenpath import data
    from goldenpath.provenance import Code
    from goldenpath.store import open_store

    started = time.perf_counter()
    store = open_store(store_url)
    if act == "snapshot":
        source, name, cache = arguments
        lineage = data.Lineage(run="", step="", code=Code())
        data.snapshot(
            source, name, store=store, options=data.SnapshotOptions(), lineage=lineage, cache_dir=Path(cache)
        )
    else:
        name, dest = arguments
        data.restore(name, Path(dest), store=store)
    print(time.perf_counter() - started)


def main() -> None:
    """Measures, prints the table, writes it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of files")
    parser.add_argument("--dvc", default=os.environ.get("GOLDENPATH_BENCH_DVC", ""), help="path, or 'none'")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()), help="where to work")
    parser.add_argument("--json", type=Path, help="write the table there too")
    parser.add_argument("--only", choices=["small", "large"], help="one of the sets")
    given = parser.parse_args()
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "goldenpath-bench"
    dvc = None if given.dvc == "none" else given.dvc or install_dvc(cache / "dvc-3.67.1")
    sizes = [
        Size(name="small", files=max(100, int(10_000 * given.scale)), bytes=10 * KIB),
        Size(name="large", files=max(1, int(8 * given.scale)), bytes=256 * MIB),
    ]
    rows: list[Measured] = []
    heads = ["set: step", "ours s", "DVC s", "ratio", "ours CPU s", "DVC CPU s", "ratio",
             "library s", "raw copy s", "library / raw"]  # fmt: skip
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for size in sizes:
        if given.only in (None, size.name):
            with tempfile.TemporaryDirectory(dir=given.dir) as folder, seaweedfs(Path(folder) / "s3") as s3:
                rows += measure(size, Path(folder) / "work", s3, dvc)
    if given.json:
        given.json.write_text(
            json.dumps(
                [asdict(row) | {"ratio": row.ratio, "cpu_ratio": row.cpu_ratio} for row in rows], indent=1
            )
        )


if __name__ == "__main__":
    if "--worker" in sys.argv[:2]:
        worker(*sys.argv[2:])
    else:
        main()
