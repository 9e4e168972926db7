"""``torch.return_types``: results of functions that are written in Python.

Results of ops get their types from the op's schema (runtime/python/results.cpp); both
print as PyTorch's do, one field a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pellucid import _C

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


def __getattr__(name: str) -> type[tuple[Any, ...]]:
    """The type of an op's results, by the op's name: ``torch.return_types.max``."""
    overloads = () if name.startswith("__") else _C._overloads(f"aten::{name}")
    for overload in overloads:
        suffix = "" if overload in ("", "default") else f".{overload}"
        found = _C._result_type(f"aten::{name}{suffix}")
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"torch.return_types has no type {name!r}")
