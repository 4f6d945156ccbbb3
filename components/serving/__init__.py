"""Promotion and rollback: the components."""
