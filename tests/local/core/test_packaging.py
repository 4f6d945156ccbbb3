"""The wheel is the repository: built from the sdist, it holds every tracked file of the package."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.local

ROOT = Path(__file__).parents[3]
MAPPED = {
    "src/goldenpath/": "goldenpath/",
    "components/": "goldenpath/components/",
    "pipelines/": "goldenpath/pipelines/",
    "runtimes/": "goldenpath/runtimes/",
    "examples/digits/": "goldenpath/examples/digits/",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the sdist, as an index would get it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, "--sdist", str(ROOT)], check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    subprocess.run([*build, "--wheel", str(unpacked)], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def _tracked() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *MAPPED], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    found = set()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_symlink():
            continue
        prefix = next(p for p in MAPPED if name.startswith(p))
        found.add(MAPPED[prefix] + name.removeprefix(prefix))
    return found


def test_the_wheel_holds_the_tracked_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == _tracked()


def test_the_wheel_alone_compiles_the_path_and_runs_a_component(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    python = environment / "bin" / "python"
    uv = [str(Path(sys.executable).parent / "uv")]
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, str(environment)], check=True)
    subprocess.run(
        [*uv, "pip", "install", "-q", "--python", str(python), "--constraint", str(ROOT / "constraints.txt"),
         f"{wheel}[kfp,hera]"],
        check=True,
    )  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("a")
    command = str(environment / "bin" / "goldenpath")
    ran = subprocess.run(
        [command, "step", "data.snapshot", "--source", "data", "--name", "letters", "--json"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "/datasets/letters:1@sha256:" in ran.stdout
    file = environment / "lib" / "python3.11" / "site-packages" / "goldenpath/examples/digits/path.yaml"
    for engine in ("kfp", "argo"):
        out = tmp_path / f"{engine}.yaml"
        subprocess.run(
            [command, "compile", "train-to-serve", "-f", str(file), "--to", engine, "-o", str(out)],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        assert out.stat().st_size > 1000
