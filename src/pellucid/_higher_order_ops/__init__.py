"""Functions of functions that libraries import by this path."""
