"""Dataset versions: the components."""
