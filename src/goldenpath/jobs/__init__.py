"""Runs the user's program as a job: one launcher for training, evaluation and batch work."""

from goldenpath.jobs.place import Place

__all__ = ["Place"]
