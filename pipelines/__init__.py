"""Golden paths: a folder a path.

Each folder holds ``config`` (a ``Config`` model: the file that a user writes), ``recipe`` (a ``run``
function in plain Python: the path's meaning), ``kfp`` and ``argo`` (the same for the engines).
"""

from __future__ import annotations

PATHS: dict[str, str] = {
    "train-to-serve": "goldenpath.pipelines.train_to_serve",
}
"""Every path by its name, with the package that holds it."""
