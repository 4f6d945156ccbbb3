"""Training: the job's configuration, its launch, and what the training code imports."""

from goldenpath.training.config import TrainingJob
from goldenpath.training.goodput import Goodput
from goldenpath.training.launcher import launch
from goldenpath.training.result import Cost, TrainingResult

__all__ = ["Cost", "Goodput", "TrainingJob", "TrainingResult", "launch"]
