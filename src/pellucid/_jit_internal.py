"""``torch._jit_internal``: TorchScript annotations; scripted code runs as Python here.

An annotation is stored on the function, where libraries look it up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, TypeVar  # noqa: UP035

from pellucid.futures import Future
from pellucid.jit import export, ignore, is_scripting, unused
from pellucid.jit.annotations import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
)

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "Future",
    "List",
    "Optional",
    "Tuple",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def _copy_to_script_wrapper(fn: _F) -> _F:
    """The method itself: PyTorch exports it to the scripted module."""
    fn._torchscript_modifier = "COPY_TO_SCRIPT_WRAPPER"  # type: ignore[attr-defined]
    return fn


def _overload(func: _F) -> _F:
    """The function itself: one of several overloads, of which Python runs the last."""
    return func


_overload_method = _overload


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two functions by the value of a bool argument, given
    by its name, its position and its default.
    """

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, default)
        if arg_index < len(args):
            chosen = args[arg_index]
        return (if_true if chosen else if_false)(*args, **kwargs)

    dispatch.__doc__ = if_true.__doc__ or if_false.__doc__
    dispatch.__module__, dispatch.__name__ = module_name, func_name
    return dispatch
