"""``torch.return_types``: results of functions that are written in Python.

Results of ops get their types from the op's schema (runtime/python/results.cpp); both
print as PyTorch's do, one field a line. ``write_out`` serves the functions' ``out=``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from pellucid._C import can_cast, is_grad_enabled
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


def _check_target(target: Tensor, part: Tensor) -> None:
    if part.requires_grad or (target.requires_grad and is_grad_enabled()):
        raise RuntimeError(
            "with out=, gradients cannot be recorded, but an argument requires them.\n"
            "Leave out= away, call under torch.no_grad(), or detach the arguments."
        )
    if not can_cast(part.dtype, target.dtype):
        raise RuntimeError(
            f"the result has dtype {part.dtype}, which cannot be cast to "
            f"{target.dtype} of the tensor it is written to"
        )


def write_out(result: _R, out: Any) -> _R:
    """``result``, or what ``out`` names filled with it; a wrong shape is resized."""
    if out is None:
        return result
    is_tensor = isinstance(result, Tensor)
    targets: Any = [out] if is_tensor else out
    parts: Any = [result] if is_tensor else result
    for target, part in zip(targets, parts, strict=True):
        _check_target(target, part)
        if target.shape != part.shape:
            target.resize_(part.shape)
        target.copy_(part)
    if is_tensor:
        return targets[0]  # type: ignore[no-any-return]
    made = type(result)
    return made(*targets) if hasattr(made, "_fields") else made(targets)  # type: ignore


@printed_as("mode")
class mode(NamedTuple):
    values: Tensor
    indices: Tensor
