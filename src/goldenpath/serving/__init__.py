"""Promotion of models into service, judged by what they do there."""
