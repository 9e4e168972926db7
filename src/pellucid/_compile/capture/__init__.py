"""Graphs of compiled callables for backends of the user."""
