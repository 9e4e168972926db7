"""Nested tensors: how they are stored, and what ops on them are."""
