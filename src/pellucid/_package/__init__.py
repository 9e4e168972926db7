"""How the package is put together: names, lazy imports, what its parts share."""
