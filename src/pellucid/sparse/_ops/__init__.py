"""Sparse tensors: an op on one is an op on its components. See README.md."""
