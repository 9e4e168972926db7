"""Captures graphs of compiled callables for users' backends."""
