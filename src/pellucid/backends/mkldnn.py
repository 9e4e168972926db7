"""Intel's oneDNN: not used; kernels are generated."""

enabled = True  # whether it would be used


def is_available() -> bool:
    """False: oneDNN is not used."""
    return False
