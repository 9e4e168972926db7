"""``torch.return_types``: results of functions that are written in Python.

Results of ops get their types from the op's schema (runtime/python/results.cpp); both
print as PyTorch's do, one field a line. ``write_out`` serves the functions' ``out=``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from pellucid._tensor import Tensor

__all__ = ["mode", "printed_as", "write_out"]

_T = TypeVar("_T", bound=type)
_R = TypeVar("_R")


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


def write_out(result: _R, out: Any) -> _R:
    """``result``, or what ``out`` names, resized and filled with it."""
    if out is None:
        return result
    is_tensor = isinstance(result, Tensor)
    targets: Any = [out] if is_tensor else out
    parts: Any = [result] if is_tensor else result
    for target, part in zip(targets, parts, strict=True):
        target.resize_(part.shape).copy_(part)
    if is_tensor:
        return targets[0]  # type: ignore[no-any-return]
    made = type(result)
    return made(*targets) if hasattr(made, "_fields") else made(targets)  # type: ignore


@printed_as("mode")
class mode(NamedTuple):
    values: Tensor
    indices: Tensor
