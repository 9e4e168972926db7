"""Wrappers for modules whose activations are recomputed or offloaded."""
