"""Evaluation and gates: the components."""
