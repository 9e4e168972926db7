"""Functions of the package that are written in Python, by subject."""
