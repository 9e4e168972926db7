"""Decorators of functions that other workers call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["async_execution"]

_F = TypeVar("_F", bound=Callable[..., Any])


def async_execution(fn: _F) -> _F:
    """Marks a function that returns a Future: callers receive the Future's result."""
    fn._is_async_execution = True  # type: ignore[attr-defined]
    return fn
