"""Evaluations of models, and the gate that judges them."""
