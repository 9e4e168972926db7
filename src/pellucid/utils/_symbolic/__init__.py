"""Symbolic sizes, for export and symbolic tracing."""
