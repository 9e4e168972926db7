"""TorchScript's names, as in PyTorch with ``PYTORCH_JIT=0``: everything runs as Python.

Libraries decorate functions with ``torch.jit.script`` and ask ``jit.is_scripting()``
on import. Here a scripted or traced function is the function itself, which
gives the same results. Nothing is compiled or serialized: ``save`` and ``load`` refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NoReturn, TypeVar, cast

from pellucid._package.calls import offered
from pellucid.futures import Future
from pellucid.jit._tracing import _get_trace_graph as _get_trace_graph
from pellucid.jit._tracing import _get_tracing_state
from pellucid.nn import Module

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


class TracerWarning(Warning):
    """The warning of traces with data-dependent Python code; never emitted here."""


@offered.value
class ScriptModule(Module):
    """A module; scripted ones are plain modules here."""


@offered.value
class TensorType:
    """TorchScript's type of tensors: here for annotations alone."""


@offered.value
class DeviceObjType:
    """TorchScript's type of devices: here for annotations alone."""


@offered.value
class ScriptObject:
    """An object of a scripted class; none is made here."""


def Attribute(value: T, type: Any) -> T:
    """The value, whatever type it is said to have."""
    return value


def is_scripting() -> bool:
    """False: nothing here compiles TorchScript."""
    return False


def is_tracing() -> bool:
    """Whether ``_get_trace_graph`` records; ``trace`` does not."""
    return _get_tracing_state() is not None


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
    if not callable(obj):
        raise TypeError(
            f"jit.script takes functions, classes and modules, not {type(obj).__name__}"
        )
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


class Error(RuntimeError):
    """What compiled code would raise."""


class ScriptFunction:
    """A compiled function. Never made: scripted functions stay functions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"nothing is compiled here{_INSTEAD}")


_INSTEAD = "; a program in Python runs as it is, and torch.save keeps its weights"


@offered.value
def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """A future of ``func(*args, **kwargs)``, which is computed at once, as in PyTorch
    outside of compiled code.
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


@offered.value
def wait(future: Future) -> Any:
    """The future's result."""
    return future.wait()


def freeze(mod: T, *args: Any, **options: Any) -> T:
    """The module itself: its attributes are read as they are."""
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself."""
    return mod


def script_if_tracing(fn: F) -> F:
    """The function itself: nothing is traced."""
    return fn


def set_fusion_strategy(strategy: Any) -> list[tuple[str, int]]:
    """An empty list: nothing is compiled, and no strategy was set before."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing: there are no compiled graphs to fuse."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


class strict_fusion(nullcontext[None]):
    """A scope that warns of calls that a compiled graph could not join: of none."""


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Refuses: there is no compiled code to write."""
    raise NotImplementedError(f"torch.jit.save writes compiled modules{_INSTEAD}")


def load(f: Any, *args: Any, **options: Any) -> NoReturn:
    """Refuses: the file holds compiled code."""
    raise NotImplementedError(f"torch.jit.load reads compiled modules{_INSTEAD}")


_script_if_tracing = script_if_tracing
