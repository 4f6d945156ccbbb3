"""Writes scikit-learn's handwritten digits (1,797 real scans) as two datasets: train and test."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

TEST_ROWS = 500


def main() -> None:
    """Writes ``data/train/digits.csv`` and ``data/test/digits.csv``: 64 pixels (0 to 16), then the label."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "data")
    folder: Path = parser.parse_args().to
    pixels, labels = load_digits(return_X_y=True)
    rows = np.column_stack([pixels, labels]).astype(int)
    rows = rows[np.random.default_rng(7).permutation(len(rows))]
    header = ",".join([f"pixel_{number}" for number in range(64)] + ["label"])
    for name, part in (("train", rows[TEST_ROWS:]), ("test", rows[:TEST_ROWS])):
        (folder / name).mkdir(parents=True, exist_ok=True)
        np.savetxt(folder / name / "digits.csv", part, fmt="%d", delimiter=",", header=header, comments="")


if __name__ == "__main__":
    main()
