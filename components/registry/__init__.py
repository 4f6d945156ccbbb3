"""The model registry: the components."""
