"""Apple's Metal: not built."""


def is_built() -> bool:
    """False: this build has no Metal code."""
    return False


def is_available() -> bool:
    """False: there is no Metal device."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: this is not macOS."""
    return False
