"""Intel's MKL: not used; matrix products are generated."""


def is_available() -> bool:
    """False: MKL is not used."""
    return False
