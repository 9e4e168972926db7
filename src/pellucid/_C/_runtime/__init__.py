"""What the C++ runtime calls in Python."""
