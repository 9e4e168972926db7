"""``torch.return_types``: results of functions that are written in Python.

Results of ops get their types from the op's schema (runtime/python/results.cpp); both
print as PyTorch's do, one field a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["printed_as"]

_T = TypeVar("_T", bound=type)


def printed_as(name: str) -> Callable[[_T], _T]:
    """Decorates a NamedTuple: it prints as ``torch.return_types.<name>``."""

    def show(result: Any) -> str:
        fields = zip(result._fields, result, strict=True)
        lines = ",\n".join(f"{field}={value!r}" for field, value in fields)
        return f"torch.return_types.{name}(\n{lines})"

    def decorate(result_type: _T) -> _T:
        result_type.__repr__ = show  # type: ignore[method-assign, assignment]
        return result_type

    return decorate
