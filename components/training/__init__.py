"""Training jobs: the components."""
