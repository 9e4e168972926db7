"""TorchScript's names, as PyTorch runs them with ``PYTORCH_JIT=0``: all stays Python.

Libraries decorate functions with ``torch.jit.script`` and ask ``jit.is_scripting()``
on import. Here a scripted or traced function is the function itself, which
gives the same results. Nothing is compiled or serialized: ``save``, ``load`` and
``freeze`` do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from pellucid.nn import Module

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "Attribute",
    "Final",
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "script",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]


class ScriptModule(Module):
    """A module; scripted ones are plain modules here."""


def Attribute(value: T, type: Any) -> T:
    """The value, whatever type it is said to have."""
    return value


def is_scripting() -> bool:
    """False: nothing here compiles TorchScript."""
    return False


def is_tracing() -> bool:
    """False: ``trace`` does not record."""
    return False


def script(obj: T, optimize: Any = None, **options: Any) -> T:
    """``obj`` itself: a function, a class or a module.

    Example::

        >>> import pellucid as torch
        >>> @torch.jit.script
        ... def double(x):
        ...     return 2 * x
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    return obj


def script_method(function: F) -> F:
    """The method itself."""
    return function


def trace(func: T, example_inputs: Any = None, **options: Any) -> T:
    """The function or module itself; the example inputs are not run."""
    return func


def trace_module(mod: T, inputs: Any, **options: Any) -> T:
    """The module itself."""
    return mod


def export(function: F) -> F:
    """The method itself."""
    return function


def _overload(function: F) -> F:
    """The function itself: a form of it that TorchScript would choose by type."""
    return function


_overload_method = _overload


def unused(function: F) -> F:
    """The function itself."""
    return function


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def ignore(drop: bool | F = False, **options: Any) -> Any:
    """The function itself; also written ``@ignore(drop=True)``."""
    if callable(drop):
        return drop
    return lambda function: function


def annotate(the_type: Any, the_value: T) -> T:
    """The value, whatever type it is said to have."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether ``obj`` is of the type, of which containers' parts are not looked at."""
    import builtins
    from typing import get_origin

    types = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    plain = tuple(get_origin(kind) or kind for kind in types)
    return builtins.isinstance(obj, cast(Any, plain))
