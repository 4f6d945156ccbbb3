"""The report of a gate: one HTML file that needs nothing else."""

from goldenpath.evaluation.report.render import References, render

__all__ = ["References", "render"]
