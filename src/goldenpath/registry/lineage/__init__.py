"""The trace: from a model to all that it came from, and from data and code to what came of them."""

from goldenpath.registry.lineage.entries import Came, Entry, Step, Trace
from goldenpath.registry.lineage.statement import in_toto
from goldenpath.registry.lineage.tracing import trace

__all__ = ["Came", "Entry", "Step", "Trace", "in_toto", "trace"]
