"""Tensors of integers with a scale; see README.md."""
