"""``torch.compiler``: the switches of ``torch.compile`` that libraries read.

Functions are never being compiled, and what keeps them from it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def is_compiling() -> bool:
    """False: Python code always runs as it is written."""
    return False


def is_dynamo_compiling() -> bool:
    """False: Python code always runs as it is written."""
    return False


def is_exporting() -> bool:
    """False: Python code always runs as it is written."""
    return False


def disable(
    fn: F | None = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """``fn`` itself, which is never compiled; also used as ``@disable()``."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: F) -> F:
    """``fn`` itself: no graph is captured that it could be refused in."""
    return fn


def assume_constant_result(fn: F) -> F:
    """``fn`` itself: it is called every time."""
    return fn


def reset() -> None:
    """Nothing: there are no compiled functions to forget."""
