"""The beginning and the end of a run: the components."""
