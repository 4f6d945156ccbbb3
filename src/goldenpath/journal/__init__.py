"""The journal: the records of runs, read and written in a store."""

from goldenpath.journal.journal import IndexKind, Journal

__all__ = ["IndexKind", "Journal"]
