"""What functions that are written in Python share around a call."""
