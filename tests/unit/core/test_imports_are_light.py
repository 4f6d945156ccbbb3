"""What must stay quick imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "mlflow", "kfp", "hera", "kserve", "kubernetes", "boto3", "pandas", "pyarrow", "matplotlib")


@pytest.mark.parametrize(
    "statement",
    [
        "import goldenpath",
        "from goldenpath.cli.main import app",
        "import goldenpath.submit",
        "import goldenpath.pipelines.train_to_serve.recipe",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint(*sorted(set({HEAVY!r}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_the_bare_package_imports_no_dependency() -> None:
    code = "import sys, goldenpath\nprint(*sorted({'pydantic', 'numpy', 'obstore', 'typer'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
