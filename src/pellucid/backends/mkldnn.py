"""Intel's oneDNN: not used; kernels are generated."""

enabled = True  # may be set, which changes nothing: oneDNN is not used


def is_available() -> bool:
    """False: oneDNN is not used."""
    return False
