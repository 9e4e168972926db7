"""Python functions that the C++ runtime calls."""
