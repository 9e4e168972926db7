"""Products of quantized tensors: integers summed exactly, scaled, rounded once.

``static`` has a given output scale; ``dynamic`` quantizes floats by their range and
returns floats. Numerics are those of ``torch.backends.quantized.engine``: fbgemm, x86
and onednn add a float bias before the result is rounded, qnnpack rounds the bias to the
scale of the sums first.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.ao._quantized.packed import Packed
from pellucid.ao._quantized.parts import INTEGERS, is_quantized, per_tensor, split
from pellucid.ao._quantized.ranges import choose


def _engine() -> str:
    from pellucid.backends import quantized

    return quantized.engine


def sums(x: Tensor, packed: Any, channel: int) -> tuple[Tensor, Tensor, Any]:
    """(sums with the bias, the scale of one unit of them, the parts of ``x``)"""
    parts = _inputs(x)
    made = packed.sums(parts.integers, parts.zero_point)
    shape = [1] * made.dim()
    shape[channel] = -1
    units = pellucid.tensor(parts.scale) * packed.scales
    made = made + _bias_in(units, packed).reshape(shape)
    return made, units.reshape(shape), parts


def _inputs(x: Tensor) -> Any:
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
    return parts


def _bias_in(units: Tensor, packed: Any) -> Tensor:
    """The bias in units of the sums."""
    bias = packed.bias()
    if bias is None:
        made: Tensor = packed.no_bias
        return made
    whole: Tensor = bias.detach() / units
    return whole.round() if _engine() == "qnnpack" else whole


def static(
    x: Tensor, packed: Packed, channel: int, scale: float, zero_point: int, relu: bool
) -> Tensor:
    """The quantized product; output channels are the result's dim ``channel``."""
    parts = _inputs(x)
    found = packed.integer_sums(parts.integers, parts.zero_point)
    one = pellucid.tensor(float(scale))
    if found is None:
        made, unit, _ = sums(x, packed, channel)
        return requantized(made * (unit / one), parts.dtype, scale, zero_point, relu)
    units = pellucid.tensor(parts.scale) * packed.scales
    integers, least, _ = INTEGERS[parts.dtype]
    least = max(least, int(zero_point)) if relu else least
    rows = _C._pellucid._requantize(
        *(found.sums, found.totals, _bias_in(units, packed), units / one),
        *(found.offset, int(zero_point), least, integers),
    )
    return per_tensor(found.shaped(rows), scale, zero_point, parts.dtype)


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
    inverse, point = 1 / pellucid.tensor(scale), zero_point - 128
    shifted = pellucid.tensor(point)
    places = _C._pellucid._quantize(x, inverse, shifted, True, pellucid.int8)
    units = pellucid.tensor(scale) * packed.scales
    bias = packed.bias()
    found = packed.integer_sums(places, point)
    if found is not None:
        added = packed.no_bias if bias is None else bias.detach()
        rows = _C._pellucid._scale_sums(
            found.sums, found.totals, units, added, found.offset
        )
        return found.shaped(rows)
    made = packed.sums(places, point)
    shape = [1] * made.dim()
    shape[channel] = -1
    made *= units.reshape(shape)
    if bias is not None:
        made += bias.detach().reshape(shape)
    return made


def by_integers(
    x: Tensor, weight: Tensor, scale: float, zero_point: int, bias: Tensor
) -> Tensor:
    """``x @ w.T + bias`` of floats, which are quantized by their range, and of a weight
    of int8 with one scale.
    """
    own, point = choose(x, pellucid.quint8, False)
    places = (x.detach() * (1 / pellucid.tensor(own))).round() + point
    centred = weight.double() - zero_point
    made = ((places.clamp(0, 255).double() - point) @ centred.t()).float()
    return made * (pellucid.tensor(own) * scale) + bias
