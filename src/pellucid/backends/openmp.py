"""OpenMP: not used; the runtime has a thread pool of its own."""


def is_available() -> bool:
    """False: OpenMP is not used."""
    return False
