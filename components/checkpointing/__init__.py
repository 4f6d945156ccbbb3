"""Checkpoints: the components."""
