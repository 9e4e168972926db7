"""Multi-head attention's fast path, which here is the only one."""

_enabled = True


def get_fastpath_enabled() -> bool:
    """What ``set_fastpath_enabled`` was given."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Noted for programs that ask; results are the same either way."""
    global _enabled
    _enabled = bool(value)
