"""The assembly of the package: op callables, lazy imports, shared helpers."""
