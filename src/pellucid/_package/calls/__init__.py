"""Helpers for functions written in Python."""
