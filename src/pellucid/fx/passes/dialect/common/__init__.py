"""Passes over graphs of ``torch.ops`` calls."""
