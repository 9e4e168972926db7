"""``torch.compiler``: queries and annotations for ``torch.compile``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid._compile import state
from pellucid._compile.decorators import (
    allow_in_graph,
    assume_constant_result,
    disable,
    reset,
    set_stance,
)
from pellucid._package.calls.submodules import submodules

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]


def compile(*args: Any, **kwargs: Any) -> Any:
    """``torch.compile``."""
    from pellucid._dynamo.compile import compile as compile_callable

    return compile_callable(*args, **kwargs)


def get_default_backend() -> str | Callable[..., Any]:
    """The backend of ``torch.compile`` where none is given: "inductor" at first."""
    from pellucid._dynamo.compile import default_backend

    return default_backend.get()


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Sets it, to a name or a function; None: to "inductor" again."""
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(
            f"a backend is a name or a callable, not a {type(backend).__name__}"
        )
    from pellucid._dynamo.compile import default_backend

    default_backend.set(backend)


def list_backends(
    exclude_tags: tuple[str, ...] | None = ("debug", "experimental"),
) -> list[str]:
    """The names that ``torch.compile(backend=...)`` takes."""
    from pellucid._dynamo.backends import registry

    return registry.list_backends(exclude_tags)


def is_compiling() -> bool:
    """Whether ops are being recorded for a user's backend or a program is exported.

    False with the default backend, which runs the Python code unchanged.
    """
    return state.capture() is not None or state.is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether ops are being recorded for a user's backend."""
    return state.capture() is not None


def is_exporting() -> bool:
    """Whether ``torch.export`` traces a program in this thread."""
    return state.is_exporting()


def cudagraph_mark_step_begin() -> None:
    """Marks the beginning of a step. Results of earlier steps are never overwritten."""


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Turns a function over NumPy arrays into a function over tensors.

    Tensor arguments are converted to arrays, array results to tensors.
    """
    import functools

    import numpy

    import pellucid
    from pellucid.utils._pytree import tree_map

    def to_array(value: Any) -> Any:
        return value.numpy() if isinstance(value, pellucid.Tensor) else value

    def to_tensor(value: Any) -> Any:
        is_array = isinstance(value, (numpy.ndarray, numpy.generic))
        return pellucid.as_tensor(value) if is_array else value

    @functools.wraps(fn)
    def over_tensors(*args: Any, **kwargs: Any) -> Any:
        given, named = tree_map(to_array, (args, kwargs))
        return tree_map(to_tensor, fn(*given, **named))

    return over_tensors


def nested_compile_region(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``fn`` itself, or a decorator without it. Equal regions share kernels anyway."""
    return fn if fn is not None else lambda function: function


def substitute_in_graph(
    original_fn: Callable[..., Any], **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a Python function equivalent to ``original_fn``.

    It returns the function and has no other effect: ``original_fn`` itself always runs.
    """
    if not callable(original_fn):
        raise TypeError(
            "substitute_in_graph expects a function but got "
            f"{type(original_fn).__name__}"
        )
    return lambda traceable: traceable


def keep_tensor_guards_unsafe(
    guard_entries: list[Any], keep_parameters: bool = False
) -> list[bool]:
    """A guard filter; there are no guards, so it has no effect."""
    return [True] * len(guard_entries)


def skip_all_guards_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Likewise."""
    return [False] * len(guard_entries)


keep_portable_guards_unsafe = keep_tensor_guards_unsafe
skip_guard_on_all_nn_modules_unsafe = skip_all_guards_unsafe
skip_guard_on_globals_unsafe = skip_all_guards_unsafe
skip_guard_on_inbuilt_nn_modules_unsafe = skip_all_guards_unsafe

__getattr__ = submodules(__name__)
