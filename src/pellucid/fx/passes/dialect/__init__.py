"""Passes over graphs of one kind of calls."""
