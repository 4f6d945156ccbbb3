"""Fakes and pytest fixtures for users of the library."""
