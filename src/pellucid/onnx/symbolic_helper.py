"""What libraries build symbolic functions with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """Says how an exporter hands over a function's arguments: "v" a value, "i" an int,
    "f" a float, "b" a bool, "s" a string, "is" and "fs" lists, "none" unused.
    """

    def mark(function: F) -> F:
        function._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return function

    return mark
