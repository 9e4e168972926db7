"""Marks of functions that have the name of an op and do not call it.

A function in Python with an op's name converts arguments that no schema expresses and
calls the op, so that the op is defined once; ``tests/structure/test_namesakes.py``
finds others. Where PyTorch's function is not its op either, the function says so::

    @namesake("PyTorch's method is a view; the op of this name copies")
    def resize(self, *sizes): ...
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType
    from typing import TypeVar

    T = TypeVar("T", bound=Callable[..., object])

_reasons: dict[Callable[..., object], str] = {}


def namesake(reason: str) -> Callable[[T], T]:
    """Decorates a function that shares only its name with an op."""

    def mark(function: T) -> T:
        _reasons[function] = reason
        return function

    return mark


def reason_of(function: FunctionType) -> str | None:
    """Why the function does not call the op of its name; None unless it says."""
    return _reasons.get(function)
