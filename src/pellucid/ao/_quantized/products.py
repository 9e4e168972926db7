"""Products of quantized tensors: integers summed exactly, scaled, rounded once.

``static`` has a given output scale; ``dynamic`` quantizes floats by their range and
returns floats. Numerics are those of ``torch.backends.quantized.engine``: fbgemm, x86
and onednn add a float bias before the result is rounded, qnnpack rounds the bias to the
scale of the sums first.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.packed import Packed
from pellucid.ao._quantized.parts import INTEGERS, is_quantized, per_tensor, split
from pellucid.ao._quantized.ranges import choose


def _engine() -> str:
    from pellucid.backends import quantized

    return quantized.engine


def sums(x: Tensor, packed: Any, channel: int) -> tuple[Tensor, Tensor, Any]:
    """(sums with the bias, the scale of one unit of them, the parts of ``x``)"""
    if not is_quantized(x):
        raise NotImplementedError(
            f"a quantized product needs a quantized input, not {x.dtype}: use "
            "torch.quantize_per_tensor, or a QuantStub in front of the layer"
        )
    parts = split(x)
    if parts.axis is not None or parts.dtype is pellucid.qint32:
        raise RuntimeError(
            "a quantized product needs an input of one scale, torch.quint8 or "
            f"torch.qint8; this one is {parts.dtype}, {parts.scheme}"
        )
    made = packed.sums(parts.integers, parts.zero_point)
    shape = [1] * made.dim()
    shape[channel] = -1
    unit = pellucid.tensor(parts.scale) * _along(packed.scales, shape)
    bias = packed.bias()
    if bias is not None:
        whole = bias.detach().reshape(shape) / unit
        made = made + (whole.round() if _engine() == "qnnpack" else whole)
    return made, unit, parts


def _along(scales: Tensor, shape: list[int]) -> Tensor:
    return scales.reshape(shape) if scales.dim() else scales


def static(
    x: Tensor, packed: Packed, channel: int, scale: float, zero_point: int, relu: bool
) -> Tensor:
    """The quantized product; output channels are the result's dim ``channel``."""
    made, unit, parts = sums(x, packed, channel)
    return requantized(
        made * (unit / pellucid.tensor(float(scale))),
        parts.dtype,
        scale,
        zero_point,
        relu,
    )


def requantized(
    places: Tensor, dtype: Any, scale: float, zero_point: int, relu: bool
) -> Tensor:
    """A quantized tensor of numbers in units of its scale."""
    integers, least, greatest = INTEGERS[dtype]
    zero_point = int(zero_point)
    if relu:
        least = max(least, zero_point)
    made = (places.round() + zero_point).clamp(least, greatest)
    return per_tensor(made.to(integers), scale, zero_point, dtype)


def dynamic(x: Tensor, packed: Packed, channel: int, reduce_range: bool) -> Tensor:
    """The product of floats, which are quantized by their range."""
    if is_quantized(x) or x.dtype is not pellucid.float32:
        raise RuntimeError(f"a dynamic product needs a float32 input, not {x.dtype}")
    x = x.detach()
    # PyTorch's qnnpack ignores reduce_range
    reduce_range = reduce_range and _engine() != "qnnpack"
    scale, zero_point = choose(x, pellucid.quint8, reduce_range)
    inverse = 1 / pellucid.tensor(scale)
    places = (x * inverse).round_().add_(zero_point).clamp_(0, 255)
    made = packed.sums(places, zero_point)
    shape = [1] * made.dim()
    shape[channel] = -1
    made *= pellucid.tensor(scale) * _along(packed.scales, shape)
    bias = packed.bias()
    if bias is not None:
        made += bias.detach().reshape(shape)
    return made
