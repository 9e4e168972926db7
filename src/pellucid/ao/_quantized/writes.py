"""Rules of in-place ops on quantized tensors: write to the integers."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized import arithmetic
from pellucid.ao._quantized.parts import is_quantized, split


def copy_(
    op: Any, target: Tensor, source: Tensor, non_blocking: bool = False
) -> Tensor:
    """Quantizes floats; a quantized source of the same dtype replaces the scales."""
    if not is_quantized(target):
        raise RuntimeError(
            "copy_ of a quantized tensor into one that is not: use dequantize()"
        )
    parts = split(target)
    if not is_quantized(source):
        if source.dtype is not pellucid.float32:
            raise RuntimeError(
                "Quantized copy only works with kFloat as source Tensor, not "
                f"{source.dtype}"
            )
        made = parts.like(source.expand(target.shape))
        parts.integers.copy_(split(made).integers)
        return target
    given = split(source)
    if given.dtype is not parts.dtype:
        raise RuntimeError(
            "Quantized Copy only works with the same dtype: "
            f"{parts.dtype} and {given.dtype} differ"
        )
    if parts.axis is None and given.axis is None:
        parts.integers.copy_(given.integers)
        parts.scales.copy_(given.scales)
        parts.zero_points.copy_(given.zero_points)
        return target
    parts.integers.copy_(given.integers)
    return target


def fill_(op: Any, target: Tensor, value: Any) -> Tensor:
    """Fills with the nearest representable number to ``value``."""
    parts = split(target)
    number = float(value)
    made = parts.like(pellucid.full(tuple(target.shape), number))
    parts.integers.copy_(split(made).integers)
    return target


def _writing(rule: Any, name: str) -> Any:
    """``op_``: writes the result of ``op`` into the integers."""

    def run(op: Any, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        packet = getattr(pellucid.ops.aten, name)
        overload = getattr(packet, op._schema.overload_name or "default")
        made = rule(overload, target, *args, **kwargs)
        split(target).integers.copy_(split(made).integers)
        return target

    return run


_IN_PLACE = ("relu", "hardtanh", "clamp", "leaky_relu", "clamp_min", "clamp_max")

RULES = {
    "copy_": copy_,
    "fill_": fill_,
    **{f"{name}_": _writing(arithmetic.RULES[name], name) for name in _IN_PLACE},
}
