"""Scales and zero points for a range of numbers."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import INTEGERS

# Below this a half-precision scale would be subnormal; ranges are widened to it.
_LEAST_SCALE = float(pellucid.tensor(6.1e-5))
_LEAST_NORMAL_INVERSE = 2.0**-128


def choose(x: Tensor, dtype: Any, reduce_range: bool) -> tuple[float, int]:
    """(scale, zero point) for the elements of ``x``."""
    _, least, greatest = INTEGERS[dtype]
    if reduce_range:
        least, greatest = least // 2, greatest // 2
    low, high = (0.0, 0.0) if x.numel() == 0 else map(float, pellucid.aminmax(x))
    return for_range(low, high, least, greatest)


def for_range(low: float, high: float, least: int, greatest: int) -> tuple[float, int]:
    """(scale, zero point) that map ``low`` .. ``high`` to ``least`` .. ``greatest``.

    0 is always represented exactly. The zero point is rounded from the end with the
    smaller error.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (greatest - least)
    if scale < _LEAST_NORMAL_INVERSE:  # its inverse overflows float32
        scale = 0.1
    if scale < _LEAST_SCALE:
        given, scale = scale, _LEAST_SCALE
        if low == 0.0:
            high = _LEAST_SCALE * (greatest - least)
        elif high == 0.0:
            low = -_LEAST_SCALE * (greatest - least)
        else:
            low, high = low * _LEAST_SCALE / given, high * _LEAST_SCALE / given
    from_low, from_high = least - low / scale, greatest - high / scale
    low_error = abs(least) + abs(low / scale)
    high_error = abs(greatest) + abs(high / scale)
    zero_point = from_low if low_error < high_error else from_high
    return scale, round(min(max(zero_point, least), greatest))


def for_range_tensors(
    low: Tensor, high: Tensor, least: int, greatest: int, is_symmetric: bool
) -> tuple[Tensor, Tensor]:
    """Scales (float32) and zero points (int32) of ranges. Symmetric schemes widen a
    range to both sides of 0.
    """
    rows = [
        _for_one(float(a), float(b), least, greatest, is_symmetric)
        for a, b in zip(low.reshape(-1), high.reshape(-1), strict=True)
    ]
    scales = pellucid.tensor([scale for scale, _ in rows], dtype=pellucid.float32)
    zero_points = [place for _, place in rows]
    return (
        scales.reshape(low.shape),
        pellucid.tensor(zero_points, dtype=pellucid.int32).reshape(low.shape),
    )


def _for_one(
    low: float, high: float, least: int, greatest: int, is_symmetric: bool
) -> tuple[float, int]:
    if not (is_symmetric and low < 0.0 < high):
        return for_range(low, high, least, greatest)
    below, above = -((greatest - least) // 2 + 1), (greatest - least) // 2
    reach = max(low / below, high / above)
    scale, _ = for_range(reach * below, reach * above, least, greatest)
    return scale, round((least + greatest) / 2)
