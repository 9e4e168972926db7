"""Prints, pickles and saves quantized tensors: their numbers and their scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import _C, Tensor

if TYPE_CHECKING:
    from pellucid._tensor.kinds import Write


def contents(tensor: Tensor, indent: int, write: Write) -> str:
    """The numbers that the integers represent."""
    return write(tensor.dequantize(), indent)


def suffixes(tensor: Tensor) -> list[str]:
    """The fields of ``repr`` after the numbers."""
    scheme, scales, zero_points, *axis = facts_of(tensor)[1]
    return [
        f"size={tuple(tensor.shape)}",
        f"dtype={tensor.dtype}",
        f"quantization_scheme={scheme}",
        f"scale={scales}",
        f"zero_point={zero_points}",
        *(f"axis={each}" for each in axis),
    ]


def facts_of(tensor: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
    """The integers, and the scheme with its numbers, as PyTorch's files have them."""
    axis, (scales, zero_points, integers) = _C._quantized_kind(tensor)
    scheme = tensor.qscheme()
    if axis < 0:
        return integers, (scheme, scales.item(), zero_points.item())
    return integers, (scheme, scales, zero_points, axis)


def rebuild(integers: Tensor, facts: Any) -> Tensor:
    """Rebuilds the tensor of ``facts_of``, with checks: it may come from a file."""
    scheme, scales, zero_points, *axis = facts
    made: Tensor
    if scheme is pellucid.per_tensor_affine:
        made = pellucid._make_per_tensor_quantized_tensor(integers, scales, zero_points)
    else:
        made = pellucid._make_per_channel_quantized_tensor(
            integers, scales, zero_points, *axis
        )
    return made


def rebuild_leaf(kind: Any, integers: Tensor, facts: Any, state: Any) -> Any:
    """Called by pickles: a tensor of the class ``kind`` with its attributes."""
    made = rebuild(integers, facts)
    if kind is not Tensor:
        made = made.as_subclass(kind)
    if state:
        made.__dict__.update(state)
    return made


def reduced(tensor: Tensor) -> Any:
    """The function and arguments from which ``pickle`` rebuilds the tensor."""
    integers, facts = facts_of(tensor)
    state = tensor.__dict__ or None
    return rebuild_leaf, (type(tensor), integers, facts, state)
