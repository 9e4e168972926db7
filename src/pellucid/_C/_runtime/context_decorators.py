"""Grad-mode contexts as decorators of functions, generators and classes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_GENERATOR_CODE = 0x20  # inspect.CO_GENERATOR, without importing inspect


def decorate_context(context: Any, function: _Function) -> _Function:
    """`function` run inside a fresh copy of `context` at every call."""
    if isinstance(function, type):
        return _decorate_class(context, function)
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _GENERATOR_CODE:
        return _decorate_generator(context, function)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with context.clone():
            return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def _decorate_class(context: Any, cls: _Function) -> _Function:
    """The class itself, whose objects are made inside the context."""
    import warnings

    warnings.warn(
        f"decorating the class {cls.__name__} covers its __init__ alone: "
        "decorate the methods that are meant",
        FutureWarning,
        stacklevel=3,
    )
    cls.__init__ = decorate_context(context, cls.__init__)  # type: ignore[method-assign]
    return cls


def _decorate_generator(context: Any, function: _Function) -> _Function:
    """The body runs in the context, whoever resumes it does not."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        resume, value = generator.send, None
        while True:
            try:
                with context.clone():
                    produced = resume(value)
            except StopIteration as stop:
                return stop.value
            try:
                resume, value = generator.send, (yield produced)
            except GeneratorExit:
                with context.clone():
                    generator.close()
                raise
            except BaseException as error:
                resume, value = generator.throw, error

    return run  # type: ignore[return-value]
