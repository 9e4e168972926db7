"""CUDA: not built."""


def is_built() -> bool:
    """False: this build has no CUDA code."""
    return False
