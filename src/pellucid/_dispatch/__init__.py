"""What the dispatcher needs of Python: bodies of composites."""
