"""Golden paths: a folder a path."""
