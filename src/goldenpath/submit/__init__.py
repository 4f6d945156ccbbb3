"""Starts a path on an engine, and reads how it ended."""

from goldenpath.submit.pathfile import LoadedPath, load_path
from goldenpath.submit.result import PathResult, read_result
from goldenpath.submit.session import ENGINES, run_path

__all__ = ["ENGINES", "LoadedPath", "PathResult", "load_path", "read_result", "run_path"]
