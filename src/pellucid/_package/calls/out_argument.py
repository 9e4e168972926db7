"""``out=`` of functions that are written in Python; that of ops is the runtime's
(runtime/ops/graph_op.cpp).
"""

from __future__ import annotations

from pellucid._C import TensorBase, can_cast, is_grad_enabled

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from pellucid._tensor import Tensor

    _R = TypeVar("_R")

__all__ = ["write_out"]


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
    is_tensor = isinstance(result, TensorBase)
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
