"""Rollouts: the persisted state machine that brings a model into service, or takes it back."""
