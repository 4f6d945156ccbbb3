"""goldenpath: from a training entry point and a queue name to a traceable model in production."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldenpath.training.run import TrainingRun, training_run

__version__ = "0.1.0"

__all__ = ["TrainingRun", "__version__", "training_run"]


def __getattr__(name: str) -> Any:
    # Lazy, so that `import goldenpath` costs nothing where only the version or the errors are needed.
    if name in ("TrainingRun", "training_run"):
        from goldenpath.training import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
