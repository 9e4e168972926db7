"""Rules of ops that compute with quantized tensors.

Comparisons compare the numbers. Ops that only compare integers of one scale work on the
integers (relu, max_pool); others are the op on the numbers, requantized with the scale
of the operand, or with the fixed scale of a bounded function.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import (
    INTEGERS,
    Parts,
    is_quantized,
    quantized,
    split,
)

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _floats(value: Any) -> Any:
    return split(value).floats() if is_quantized(value) else value


def compare(op: Any, *operands: Any) -> Any:
    """Compares the numbers: a plain bool tensor."""
    return op(*map(_floats, operands))


def relu(op: Any, tensor: Tensor) -> Tensor:
    """Clamps to the zero point."""
    parts = _of_one_scale(op, tensor)
    return parts.with_integers(parts.integers.clamp(min=parts.zero_point))


def pool_of_greatest(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """``max_pool`` in floats, which represent the integers exactly and have kernels."""
    parts = _of_one_scale(op, tensor)
    made = op(parts.integers.float(), *args, **kwargs)
    return parts.with_integers(made.to(parts.integers.dtype))


def on_numbers(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The op on the numbers, with the scale of the operand."""
    parts = _of_one_scale(op, tensor)
    return parts.like(op(parts.fused_floats(), *args, **kwargs))


def average(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Means of integers minus the zero point, rounded once."""
    parts = _of_one_scale(op, tensor)
    centred = parts.integers.float() - parts.zero_point
    made = (op(centred, *args, **kwargs) + parts.zero_point).round()
    _, least, greatest = INTEGERS[parts.dtype]
    return parts.with_integers(made.clamp(least, greatest).to(parts.integers.dtype))


def _with_fixed_scale(scale: float, of_unsigned: int, of_signed: int) -> Any:
    def rule(op: Any, tensor: Tensor) -> Tensor:
        parts = _of_one_scale(op, tensor)
        zero_point = of_unsigned if parts.dtype is pellucid.quint8 else of_signed
        return quantized(op(parts.floats()), scale, zero_point, parts.dtype)

    return rule


def equal(op: Any, first: Tensor, second: Tensor) -> bool:
    """Whether both have equal integers and scales."""
    if not (is_quantized(first) and is_quantized(second)):
        return False
    a, b = split(first), split(second)
    same_kind = a.dtype is b.dtype and a.axis == b.axis
    return same_kind and all(
        pellucid.equal(x, y)
        for x, y in (
            (a.integers, b.integers),
            (a.scales, b.scales),
            (a.zero_points, b.zero_points),
        )
    )


def item(op: Any, tensor: Tensor) -> Any:
    """The number of the one element."""
    return split(tensor).floats().item()


def extreme(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """``max``, ``min`` over all elements: a quantized scalar."""
    parts = _of_one_scale(op, tensor)
    made = op(parts.integers, *args, **kwargs)
    if isinstance(made, tuple | list):
        return parts.with_integers(made[0]), made[1]
    return parts.with_integers(made)


def sort(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Sorts by the integers."""
    parts = _of_one_scale(op, tensor)
    values, indices = op(parts.integers, *args, **kwargs)
    return parts.with_integers(values), indices


def _of_one_scale(op: Any, tensor: Any) -> Parts:
    if not is_quantized(tensor):
        name = op._schema.name
        raise NotImplementedError(f"{name}: the first argument is not quantized")
    parts = split(tensor)
    if parts.axis is not None:
        raise RuntimeError(
            f"{op._schema.name} needs one scale; this tensor has a scale per channel: "
            "use dequantize()"
        )
    return parts


RULES = {
    **dict.fromkeys(_COMPARISONS, compare),
    "relu": relu,
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d"), pool_of_greatest),
    **dict.fromkeys(
        ("quantized_max_pool1d", "quantized_max_pool2d", "quantized_max_pool3d"),
        pool_of_greatest,
    ),
    **dict.fromkeys(
        (
            *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
            *("_upsample_nearest_exact1d", "_upsample_nearest_exact2d"),
            *("reflection_pad1d", "reflection_pad2d", "replication_pad1d"),
            *("replication_pad2d", "constant_pad_nd"),
        ),
        on_numbers,
    ),
    **dict.fromkeys(
        (
            *("mean", "upsample_bilinear2d", "leaky_relu", "hardtanh", "clamp"),
            *("clamp_min", "clamp_max", "threshold", "gelu", "std"),
        ),
        on_numbers,
    ),
    **dict.fromkeys(
        (
            *("avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d"),
            *("adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d"),
            "_adaptive_avg_pool3d",
        ),
        average,
    ),
    "sigmoid": _with_fixed_scale(1 / 256, 0, -128),
    "hardsigmoid": _with_fixed_scale(1 / 256, 0, -128),
    "tanh": _with_fixed_scale(2 / 256, 128, 0),
    "equal": equal,
    "item": item,
    "_local_scalar_dense": item,
    **dict.fromkeys(("max", "min"), extreme),
    **dict.fromkeys(("sort", "topk", "msort"), sort),
}
