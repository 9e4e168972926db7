"""``torch._dynamo``: names that libraries read; there is no capture of Python yet.

``is_compiling`` is False and the marks for a capture do nothing, as in PyTorch outside
``torch.compile``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "graph_break",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "reset",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def is_compiling() -> bool:
    """False: nothing is captured."""
    return False


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """``fn`` itself, which runs as it is; a decorator without it."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


def assume_constant_result(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


def graph_break(msg: str = "") -> None:
    """Parts a captured graph: there is none."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Says that a captured size may vary: all sizes may."""


def mark_static(t: Any, index: Any = None) -> None:
    """Says that a captured size is fixed: none needs to be."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Says that a tensor stays where it is."""


def reset() -> None:
    """Forgets what was captured: nothing."""


def __getattr__(name: str) -> Any:
    if name not in ("OptimizedModule", "eval_frame"):
        raise AttributeError(f"module 'pellucid._dynamo' has no attribute {name!r}")
    from importlib import import_module

    eval_frame = import_module("pellucid._dynamo.eval_frame")
    return eval_frame if name == "eval_frame" else eval_frame.OptimizedModule
