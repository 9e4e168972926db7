"""NNPACK: not used; convolutions are generated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_enabled = True


def is_available() -> bool:
    """False: NNPACK is not used."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Sets the switch, at which nothing looks; returns it as it was."""
    before = globals()["_enabled"]
    globals()["_enabled"] = bool(_enabled)
    return (before,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Sets the switch for a block."""
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
