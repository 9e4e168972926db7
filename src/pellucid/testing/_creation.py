"""``make_tensor``: random tensors for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor


def _shape(given: tuple[Any, ...]) -> list[int]:
    if len(given) == 1 and not isinstance(given[0], int):
        return list(given[0])
    return list(given)


def make_tensor(
    *shape: int | Sequence[int],
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of ``shape`` with elements drawn evenly from ``low`` up to ``high``.

    By default from -9 to 9, of uint8 from 0, of bools from both. ``exclude_zero``
    replaces zeros by the least positive number; ``noncontiguous`` leaves every other
    element of the memory out.
    """
    sizes = _shape(shape)
    if low is not None and high is not None and not low <= high:
        raise ValueError(f"make_tensor: low {low} exceeds high {high}")
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: give either noncontiguous or memory_format")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"make_tensor: tensors of {dtype} have no gradient")
    drawn_sizes = [*sizes[:-1], 2 * sizes[-1]] if noncontiguous and sizes else sizes
    result = _drawn(drawn_sizes, dtype, low, high)
    if noncontiguous and sizes:
        result = result[..., ::2]
    if memory_format is not None:
        result = result.contiguous(memory_format=memory_format)
    if exclude_zero:
        least = 1 if not dtype.is_floating_point else pellucid.finfo(dtype).tiny
        result[result == 0] = least
    if device is not None:
        result = result.to(device)
    return result.requires_grad_(requires_grad)


def _drawn(sizes: list[int], dtype: Any, low: Any, high: Any) -> Tensor:
    if dtype is pellucid.bool:
        return pellucid.randint(0, 2, sizes, dtype=dtype)
    if dtype.is_floating_point:
        first, last = (-9.0 if low is None else low), (9.0 if high is None else high)
        drawn = pellucid.rand(sizes, dtype=pellucid.float64)
        return (first + (last - first) * drawn).to(dtype)
    if dtype.is_complex:
        raise NotImplementedError(f"make_tensor: {dtype} is not offered yet")
    limits = pellucid.iinfo(dtype)
    smallest = max(-9 if dtype.is_signed else 0, limits.min)
    first = smallest if low is None else max(math.ceil(low), limits.min)
    last = 10 if high is None else min(math.ceil(high), limits.max)
    return pellucid.randint(first, max(last, first + 1), sizes, dtype=dtype)
