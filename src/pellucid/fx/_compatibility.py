"""``torch.fx._compatibility``: marks names with a stable interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """A decorator that records whether a name's interface is stable."""

    def mark(named: T) -> T:
        _MARKED_WITH_COMPATIBILITY.setdefault(named)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(named)
        return named

    return mark
