"""Rules of ops that compute with quantized tensors.

Ops that only compare integers of one scale work on the integers (relu, max_pool);
others are the op on the numbers, requantized with the scale
of the operand, or with the fixed scale of a bounded function.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.moves import computable, with_computed
from pellucid.ao._quantized.parts import (
    INTEGERS,
    is_quantized,
    of_one_scale,
    quantized,
    split,
)
from pellucid.ao._quantized.rules import RULES

_ordered = RULES.because("an order of numbers is that of their integers")
_scaled = RULES.because("PyTorch gives the result the scale of the operand")
_fixed = RULES.because("PyTorch gives a bounded result a scale of its own")


@_ordered("relu")
def relu(op: Any, tensor: Tensor) -> Tensor:
    """Clamps to the zero point."""
    parts = of_one_scale(op, tensor)
    return parts.with_integers(parts.integers.clamp(min=parts.zero_point))


@_scaled(
    *("mean", "upsample_bilinear2d", "leaky_relu", "hardtanh", "clamp", "clamp_min"),
    *("clamp_max", "threshold", "gelu", "std", "constant_pad_nd"),
)
def on_numbers(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The op on the numbers, with the scale of the operand."""
    parts = of_one_scale(op, tensor)
    return parts.like(op(parts.fused_floats(), *args, **kwargs))


@RULES.because("PyTorch rounds the mean of integers once")(
    *("avg_pool1d", "avg_pool2d", "avg_pool3d"),
    *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
    *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"),
)
def average(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Means of integers minus the zero point, rounded once."""
    parts = of_one_scale(op, tensor)
    centred = parts.integers.float() - parts.zero_point
    made = (op(centred, *args, **kwargs) + parts.zero_point).round()
    _, least, greatest = INTEGERS[parts.dtype]
    return parts.with_integers(made.clamp(least, greatest).to(parts.integers.dtype))


@_fixed("sigmoid", "hardsigmoid")
def from_zero_to_one(op: Any, tensor: Tensor, least: float = 0.0) -> Tensor:
    """The numbers from ``least`` to one in 256 steps."""
    parts = of_one_scale(op, tensor)
    scale = (1 - least) / 256
    is_unsigned = parts.dtype is pellucid.quint8
    zero_point = round(-least / scale) - (0 if is_unsigned else 128)
    return quantized(op(parts.floats()), scale, zero_point, parts.dtype)


@_fixed("tanh")
def up_to_one(op: Any, tensor: Tensor) -> Tensor:
    """The numbers from minus one to one."""
    return from_zero_to_one(op, tensor, -1.0)


@RULES.because("the result is not a tensor")("equal")
def equal(op: Any, first: Tensor, second: Tensor) -> bool:
    """Whether both have equal integers and scales."""
    if not (is_quantized(first) and is_quantized(second)):
        return False
    a, b = split(first), split(second)
    names = ("integers", "scales", "zero_points")
    pairs = ((getattr(a, name), getattr(b, name)) for name in names)
    same_kind = a.dtype is b.dtype and a.axis == b.axis
    return same_kind and all(pellucid.equal(x, y) for x, y in pairs)


@RULES.because("the result is not a tensor")("item")
def item(op: Any, tensor: Tensor) -> Any:
    """The number of the one element."""
    return split(tensor).floats().item()


@_ordered("argsort")
def argsort(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The order of the integers."""
    return op(computable(op, of_one_scale(op, tensor).integers), *args, **kwargs)


@_ordered(
    *("max", "min", "sort", "topk", "msort", "max_pool1d", "max_pool2d", "max_pool3d")
)
def by_order(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The op on the integers; indices stay as they are."""
    parts = of_one_scale(op, tensor)
    if any(isinstance(each, Tensor) for each in args):
        raise NotImplementedError(
            f"{op._schema.name} of two tensors has no form for quantized ones: compute "
            "it in floats, tensor.dequantize()"
        )
    made = op(computable(op, parts.integers), *args, **kwargs)
    if isinstance(made, Tensor):
        return with_computed(parts, made)
    return with_computed(parts, made[0]), made[1]
