"""Context managers that also decorate functions; base classes for libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from pellucid._C._runtime.context_decorators import decorate_context

_F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]


class _DecoratorContextManager:
    """A context manager whose instances also decorate functions and generators.

    A subclass with parameters overrides ``clone``: each call of the function enters a
    new context.
    """

    def __call__(self, orig_func: _F) -> _F:
        return decorate_context(self, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __enter__")

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __exit__")

    def clone(self) -> Self:
        """A new instance with the same parameters; here without parameters."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context manager without parameters, which also decorates without being
    called.
    """

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
