"""Modules whose activations are computed again, or wait in the CPU's memory."""
