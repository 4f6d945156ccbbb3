"""Starts a path on an engine."""
