"""A gate on a million paired rows with ten slices, and the bootstrap beside scipy's.

Each measurement runs in a fresh process, so that its peak of memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 1_000_000
BOOTSTRAP_ROWS = 10_000
SLICES = 10
POLICIES: dict[str, list[dict[str, Any]]] = {
    "accuracy, 10 slices": [{"kind": "no_regression"}, {"kind": "slices"}],
    "ROC AUC, 10 slices": [
        {"kind": "no_regression", "metric": "roc_auc"},
        {"kind": "slices", "metric": "roc_auc"},
    ],
    "macro F1 (jackknife)": [{"kind": "no_regression", "metric": "macro_f1"}],
}


def write(path: Path, seed: int, rows: int) -> None:
    """Rows of a binary classifier; two seeds are two models on the same examples."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shared, own = np.random.default_rng(0), np.random.default_rng(seed)
    label = shared.integers(0, 2, rows)
    logit = (label * 2 - 1) * 1.2 + shared.normal(size=rows) + own.normal(size=rows) * 0.3
    score = 1 / (1 + np.exp(-logit))
    columns = {
        "id": [f"row-{number:07d}" for number in range(rows)],
        "label": label,
        "prediction": (score > 0.5).astype(np.int64),
        "score": score,
        "slice_part": shared.integers(0, SLICES, rows),
    }
    pq.write_table(pa.table(columns), path)


def gate(folder: Path, rules: list[dict[str, Any]]) -> str:
    """Reads both files and judges."""
    from goldenpath.evaluation import EvaluationData, GatePolicy, judge, read_rows

    policy = GatePolicy.model_validate({"rules": rules})
    mine, other = (EvaluationData(rows=read_rows(folder / f"{name}.parquet")) for name in "ab")
    found = judge(policy, mine, other)
    return f"{found.verdict.value}, {len(found.rules)} verdicts"


def bootstrap_ours(folder: Path) -> str:
    """The paired bootstrap of a difference of macro F1."""
    from goldenpath.evaluation import read_rows
    from goldenpath.evaluation.intervals.resampling import resampled
    from goldenpath.evaluation.metrics import METRICS
    from goldenpath.evaluation.pairs import Pairs

    mine, other = (read_rows(folder / f"{name}-small.parquet") for name in "ab")
    found = resampled(METRICS["macro_f1"], Pairs(candidate=mine, champion=other))
    assert not isinstance(found, str)
    return f"{found.lower(0.05):+.5f} to {found.upper(0.05):+.5f}"


def bootstrap_scipy(folder: Path) -> str:
    """The same difference by ``scipy.stats.bootstrap``: percentiles of 2,000 samples, both sides at 5 %."""
    from scipy import stats

    from goldenpath.evaluation import read_rows
    from goldenpath.evaluation.rows import codes_of

    mine, other = (read_rows(folder / f"{name}-small.parquet") for name in "ab")

    def f1(label: Any, prediction: Any) -> float:
        hits = np.bincount(label[label == prediction], minlength=2)
        seen = np.bincount(label, minlength=2) + np.bincount(prediction, minlength=2)
        return float(np.mean(2 * hits / seen))

    def harm(label: Any, a: Any, b: Any) -> float:
        return f1(label, b) - f1(label, a)

    columns = (codes_of(mine.label), codes_of(mine.prediction), codes_of(other.prediction))
    found = stats.bootstrap(
        columns,
        harm,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return f"{found.low:+.5f} to {found.high:+.5f}"


def measured(name: str, folder: Path) -> dict[str, Any]:
    """One measurement, here in this process."""
    tasks: dict[str, Callable[[], str]] = {
        key: lambda rules=rules: gate(folder, rules) for key, rules in POLICIES.items()
    }
    tasks |= {
        "bootstrap, 10,000 rows": lambda: bootstrap_ours(folder),
        "scipy.stats.bootstrap": lambda: bootstrap_scipy(folder),
    }
    started, worked = time.perf_counter(), time.process_time()
    answer = tasks[name]()
    return {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - worked,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "answer": answer,
    }


def main() -> None:
    """Prints the table."""
    names = [*POLICIES, "bootstrap, 10,000 rows", "scipy.stats.bootstrap"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for seed, name in enumerate("ab", start=1):
            write(folder / f"{name}.parquet", seed, ROWS)
            write(folder / f"{name}-small.parquet", seed, BOOTSTRAP_ROWS)
        print("| gate | seconds | CPU seconds | peak MiB | answer |\n|---|---|---|---|---|")
        for name in names:
            done = subprocess.run(
                [sys.executable, __file__, name, scratch], check=True, capture_output=True, text=True
            )
            found = json.loads(done.stdout)
            times = f"{found['seconds']:.2f} | {found['cpu']:.2f}"
            print(f"| {name} | {times} | {found['mib']:.0f} | {found['answer']} |")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]))))
    else:
        main()
