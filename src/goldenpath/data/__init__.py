"""Dataset versions: immutable, deduplicated, verified on every read."""
