"""opt_einsum: not used by ``torch.einsum``. Its switches can be set and read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether opt_einsum is installed."""
    return find_spec("opt_einsum") is not None


def get_opt_einsum() -> Any:
    """The module opt_einsum, or None where it is not installed."""
    if not is_available():
        return None
    return import_module("opt_einsum")


def set_flags(
    _enabled: bool | None = None, _strategy: str | None = None
) -> tuple[Any, ...]:
    """Sets the switches that are given; returns both as they were."""
    module = sys.modules[__name__]
    before = (enabled, strategy if enabled else None)
    if _enabled is not None:
        setattr(module, "enabled", _enabled)  # noqa: B010
    if _strategy is not None:
        setattr(module, "strategy", _strategy)  # noqa: B010
    return before


@contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """Sets the switches for a block."""
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        set_flags(*before)
