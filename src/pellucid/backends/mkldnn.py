"""Intel's oneDNN: not used; kernels are generated."""


def is_available() -> bool:
    """False: oneDNN is not used."""
    return False
