"""How quickly the package and the command start, beside ``import kfp``: medians of fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 9
COMMANDS = {
    "import goldenpath": [sys.executable, "-c", "import goldenpath"],
    "goldenpath --help": [str(Path(sys.executable).parent / "goldenpath"), "--help"],
    "import kfp": [sys.executable, "-c", "import kfp"],
    "python (nothing)": [sys.executable, "-c", "pass"],
}


def measure() -> dict[str, float]:
    """The median milliseconds of each command, taken in turns so that drift hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            taken[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}


if __name__ == "__main__":
    found = measure()
    print("| start | median ms | of import kfp |\n|---|---|---|")
    for name, ms in found.items():
        print(f"| `{name}` | {ms:.0f} | {ms / found['import kfp']:.3f} |")
