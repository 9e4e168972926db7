"""Transports of a group's bytes: see README.md."""
