"""Runs the benches one after the other and prints their tables; names as arguments choose some.

python tests/bench/run.py            all of them
python tests/bench/run.py start gate bench_start.py and bench_gate.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    """Runs the chosen benches; 1 if one failed."""
    files = sorted(Path(__file__).parent.glob("*/bench_*.py"))
    known = {file.stem.removeprefix("bench_"): file for file in files}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"There is no bench {unknown[0]!r}. Benches: {', '.join(known)}.", file=sys.stderr)
        return 2
    failed = 0
    for name in names or known:
        print(f"\n## {name}\n", flush=True)
        failed |= subprocess.run([sys.executable, str(known[name])], check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
