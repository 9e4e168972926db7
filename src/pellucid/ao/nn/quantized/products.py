"""Products of quantized tensors: integers summed exactly, scaled, rounded.

Integers of 8 bits are summed in float32 while every partial sum is exact in it (512
terms), else in float64: both hold the integer sum itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import INTEGERS, Parts, per_tensor, split
from pellucid.ao._quantized.ranges import choose

_EXACT_TERMS = 512  # 255 * 128 * 512 < 2**24


class PackedWeight:
    """A quantized weight with its bias, and what products need of them."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias
        parts = split(weight)
        if parts.dtype is not pellucid.qint8:
            raise RuntimeError(f"a packed weight is torch.qint8, not {parts.dtype}")
        terms = weight[0].numel() if weight.numel() else 0
        self.dtype = pellucid.float32 if terms <= _EXACT_TERMS else pellucid.float64
        zero_points = parts.aligned(parts.zero_points)
        self.integers = (parts.integers.to(self.dtype) - zero_points).to(self.dtype)
        self.scales = parts.scales.float()
        self.parts: Parts = parts

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """(weight, bias)"""
        return self.weight, self.bias


_Product = Callable[[Tensor, Tensor], Tensor]


def static(
    x: Tensor,
    packed: PackedWeight,
    product: _Product,
    channel: int,
    scale: float,
    zero_point: int,
    is_relu: bool,
) -> Tensor:
    """The product with the scale and zero point of the result; ``channel`` is the
    result's dim of output channels.
    """
    parts = split(x)
    if parts.axis is not None or parts.dtype is pellucid.qint32:
        raise RuntimeError("a product needs an input of one scale: quint8 or qint8")
    centred = parts.integers.to(packed.dtype) - parts.zero_point
    sums = product(centred, packed.integers).float()
    shape = [1] * sums.dim()
    shape[channel] = -1
    scales = packed.scales.reshape(shape) if packed.scales.dim() else packed.scales
    both = pellucid.tensor(parts.scale) * scales
    if packed.bias is not None:
        sums = sums + packed.bias.detach().reshape(shape) / both
    places = (sums * (both / pellucid.tensor(scale))).round() + zero_point
    integers, least, most = INTEGERS[parts.dtype]
    places = places.clamp(max(least, zero_point) if is_relu else least, most)
    return per_tensor(places.to(integers), scale, zero_point, parts.dtype)


def dynamic(
    x: Tensor, packed: PackedWeight, product: _Product, reduce_range: bool
) -> Tensor:
    """The product of floats, quantized by their range first; the result is float."""
    scale, zero_point = choose(x, pellucid.quint8, reduce_range)
    inverse = 1 / pellucid.tensor(scale)
    places = ((x.detach() * inverse).round() + zero_point).clamp(0, 255) - zero_point
    sums = product(places.to(packed.dtype), packed.integers).float()
    made = sums * (pellucid.tensor(scale) * packed.scales)
    return made if packed.bias is None else made + packed.bias.detach()
