"""Checkpoints with commit manifests."""
